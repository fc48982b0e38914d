#include "import/event_tables.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/hash.h"
#include "import/value_bytes.h"

namespace kymo::import {
namespace {

constexpr size_t kBlockBytes = 64 << 10;
constexpr size_t kShortText = 4 << 10;     // a longer one has memory of its own
constexpr size_t kMostNext = 8;            // that are compared one by one
constexpr size_t kLongestFieldName = 255;  // in a trace

uint64_t hash_of(std::string_view text) { return base::hash(std::as_bytes(std::span(text.data(), text.size()))); }

uint32_t mixed(uint64_t a, uint64_t b) {
  const uint64_t product = (a ^ (b + 0x632BE59BD9B4E019u)) * 0x9E3779B97F4A7C15u;
  return static_cast<uint32_t>(product >> 32);
}

// As ==, without a call for the short texts that most are.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const char *left = a.data(), *right = b.data();
  size_t size = a.size();
  const auto differ = [&]<typename Word>(Word) {
    Word of_left, of_right;
    std::memcpy(&of_left, left, sizeof(Word));
    std::memcpy(&of_right, right, sizeof(Word));
    left += sizeof(Word), right += sizeof(Word), size -= sizeof(Word);
    return of_left != of_right;
  };
  constexpr size_t kShort = 64;
  if (size > kShort) return a == b;
  while (size >= sizeof(uint64_t))
    if (differ(uint64_t{})) return false;
  if (size >= sizeof(uint32_t) && differ(uint32_t{})) return false;
  if (size >= sizeof(uint16_t) && differ(uint16_t{})) return false;
  return size == 0 || *left == *right;
}

}  // namespace

Texts::Texts() : slots_(64) { number_of({}); }

std::string_view Texts::keep(std::string_view text) {
  if (text.empty()) return {};
  char* to = nullptr;
  if (text.size() > kShortText) {
    to = memory_.emplace_back(std::make_unique_for_overwrite<char[]>(text.size())).get();
  } else {
    if (text.size() > left_) {
      free_ = memory_.emplace_back(std::make_unique_for_overwrite<char[]>(kBlockBytes)).get();
      left_ = kBlockBytes;
    }
    to = free_;
    free_ += text.size();
    left_ -= text.size();
  }
  std::memcpy(to, text.data(), text.size());
  return {to, text.size()};
}

uint32_t Texts::number_of(std::string_view text) {
  text = text.substr(0, kLongest);
  const auto hash = static_cast<uint32_t>(hash_of(text));
  size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number != kFree; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == hash && same(texts_[slots_[at].number], text)) return slots_[at].number;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.push_back(keep(text));
  slots_[at] = {hash, number};
  if (texts_.size() * 2 > slots_.size()) grow();
  return number;
}

void Texts::grow() {
  std::vector<Slot> larger(slots_.size() * 2);
  for (const Slot& slot : slots_) {
    if (slot.number == kFree) continue;
    size_t at = slot.hash & (larger.size() - 1);
    while (larger[at].number != kFree) at = (at + 1) & (larger.size() - 1);
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

EventTables::EventTables() : slots_(64), lists_(1) {}

uint32_t EventTables::longer_list(uint32_t list, std::string_view name, trace::FieldType type) {
  // A field without a name would fill a "{}" of the class's name.
  if (name.empty()) name = "value";
  name = name.substr(0, kLongestFieldName);
  for (const FieldList::Next& next : lists_[list].next)
    if (next.type == type && same(texts[next.name], name)) return next.list;
  const uint32_t text = texts.number_of(name);
  if (lists_[list].next.size() == kMostNext) {
    key_.clear();
    put_varint(key_, list);
    put_varint(key_, text);
    key_ += static_cast<char>(type);
    if (const auto known = more_lists_.find(key_); known != more_lists_.end()) return known->second;
  }
  const auto made = static_cast<uint32_t>(lists_.size());
  lists_.push_back({list, text, type, {}});
  if (lists_[list].next.size() < kMostNext) {
    lists_[list].next.push_back({text, made, type});
  } else {
    more_lists_.emplace(key_, made);
  }
  return made;
}

uint32_t EventTables::number_of_category(std::string_view category) {
  category = category.substr(0, kLongestName);
  for (const uint32_t recent : recent_categories_)
    if (same(texts[recent], category)) return recent;
  const uint32_t number = texts.number_of(category);
  recent_categories_[next_recent_++ % kRecent] = number;
  return number;
}

uint32_t EventTables::class_of(const ImportedEvent& event) {
  uint32_t list = 0;
  if (event.values != nullptr) {
    size_t left = kMostFields;
    for (const ImportedValue& value : *event.values) {
      if (left-- == 0) break;
      list = longer_list(list, value.name, value.type);
    }
  }
  const std::string_view name = event.name.substr(0, kLongestName);
  const uint32_t category = number_of_category(event.category);
  const uint32_t hash = mixed(hash_of(name), uint64_t{list} << 32 ^ uint64_t{category} << 8 ^ event.colour);
  size_t at = hash & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const Class& known = classes_[slots_[at] - 1];
    if (known.hash == hash && known.fields == list && known.category == category && known.colour == event.colour &&
        same(texts[known.name], name))
      return slots_[at] - 1;
  }
  classes_.push_back({texts.number_of(name), category, list, event.colour, hash});
  slots_[at] = static_cast<uint32_t>(classes_.size());
  if (classes_.size() * 2 > slots_.size()) grow();
  return static_cast<uint32_t>(classes_.size() - 1);
}

void EventTables::grow() {
  std::vector<uint32_t> larger(slots_.size() * 2);
  for (const uint32_t slot : slots_) {
    if (slot == 0) continue;
    size_t at = classes_[slot - 1].hash & (larger.size() - 1);
    while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = slot;
  }
  slots_ = std::move(larger);
}

std::vector<trace::Field> EventTables::fields(uint32_t list) const {
  std::vector<trace::Field> fields;
  for (; list != 0; list = lists_[list].before)
    fields.push_back({std::string(texts[lists_[list].name]), lists_[list].type});
  std::reverse(fields.begin(), fields.end());
  return fields;
}

}  // namespace kymo::import
