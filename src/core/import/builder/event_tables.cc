#include "import/builder/event_tables.h"

#include <algorithm>

#include "base/hash.h"
#include "base/name_places.h"

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
      // A field without a name would fill a "{}" of the class's name.
      list = longer_list(list, value.name.empty() ? "value" : value.name, value.type);
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

namespace {

using trace::FieldType;
using Kind = ImportedRecord::Kind;

// Times beyond this cannot be added up. It is a number that a double has exactly, because viewers use doubles: rounded
// up, an event would be after the end of its trace.
constexpr int64_t kLatest = 2'300'000'000'000'000'000;

constexpr size_t kMostBytes = (EventTables::kMostFields + 1) * kLongestVarint;

char* put_values(char* to, EventTables& tables, const std::vector<ImportedValue>& values) {
  size_t left = EventTables::kMostFields;
  for (const ImportedValue& value : values) {
    if (left-- == 0) break;
    switch (value.type) {
      case FieldType::Double:
        std::memcpy(to, &value.real, sizeof value.real);
        to += sizeof value.real;
        break;
      case FieldType::String:
        to = put_varint(to, tables.texts.number_of(value.text));
        break;
      case FieldType::Int:
        to = put_varint(to, to_zigzag(value.bits));
        break;
      default:
        to = put_varint(to, value.bits);
    }
  }
  return to;
}

}  // namespace

int64_t EventBlock::bounded(int64_t time) {
  beyond += time < -kLatest || time > kLatest;
  time = std::clamp(time, -kLatest, kLatest);
  earliest = std::min(earliest, time);
  return time;
}

ImportedRecord& EventBlock::add(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation) {
  char buffer[kMostBytes];
  char* end = buffer;
  if (correlation != 0) end = put_varint(end, correlation);
  if (event.values != nullptr) end = put_values(end, with, *event.values);
  tables = &with;
  ++events;
  ImportedRecord& record = records.emplace_back();
  record.start = bounded(time);
  record.values = static_cast<uint32_t>(bytes.size());
  record.class_id = with.class_of(event);
  record.has_correlation = correlation != 0;
  bytes.append(buffer, static_cast<size_t>(end - buffer));
  return record;
}

void EventBlock::range(EventTables& with, int64_t start, int64_t end, const ImportedEvent& event,
                       uint64_t correlation) {
  reversed += end < start;
  const bool is_beyond = start < -kLatest || start > kLatest;
  ImportedRecord& record = add(with, start, event, correlation);
  record.kind = Kind::Range;
  record.point = event.lane;
  record.end = std::max(record.start, is_beyond ? std::clamp(end, -kLatest, kLatest) : bounded(end));
}

void EventBlock::open_range(EventTables& with, int64_t start, const ImportedEvent& event, uint64_t correlation) {
  ImportedRecord& record = add(with, start, event, correlation);
  record.kind = Kind::Range;
  record.point = event.lane;
  record.end = ImportedRecord::kNever;
}

void EventBlock::begin(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation) {
  add(with, time, event, correlation).kind = Kind::Begin;
  has_parts = true;
}

void EventBlock::end(int64_t time) {
  ImportedRecord& record = records.emplace_back();
  record.kind = Kind::End;
  record.start = bounded(time);
  has_parts = true;
}

void EventBlock::point(EventTables& with, int64_t time, trace::PointKind kind, uint64_t id,
                       const ImportedEvent& event) {
  ImportedRecord& record = add(with, time, event, 0);
  record.kind = Kind::Point;
  record.end = static_cast<int64_t>(id);
  record.point = static_cast<uint8_t>(kind);
  has_async |= kind == trace::PointKind::AsyncBegin || kind == trace::PointKind::AsyncEnd;
}

void EventBlock::drop(ImportedRecord& record) {
  record.kind = Kind::Dropped;
  has_parts = true;
  --events;
}

void EventBlock::check_order() { is_sorted = std::is_sorted(records.begin(), records.end(), comes_first); }

void EventBlock::resize(const Size& size) {
  records.resize(size.records);
  bytes.resize(size.bytes);
  has_parts = size.has_parts;
  events = size.events;
  reversed = size.reversed;
  beyond = size.beyond;
}

namespace {

std::string key_of(const trace::EventClass& of) {
  std::string key;
  const auto add = [&](std::string_view text) {
    put_varint(key, text.size());
    key += text;
  };
  add(of.name);
  add(of.category);
  put_varint(key, of.colour);
  for (const trace::Field& field : of.fields) {
    add(field.name);
    key += static_cast<char>(field.type);
  }
  return key;
}

// Readers would fill the name with values, or take "{{" for a brace.
bool is_changed_by_readers(const trace::EventClass& of) {
  if (of.fields.empty()) return false;
  base::NamePieces pieces(of.name);
  size_t next = 0, length = 0;
  for (base::NamePiece piece; pieces.next(piece); length += piece.text.size()) {
    const auto name_of = [&](size_t i) { return std::string_view(of.fields[i].name); };
    if (base::argument_of(piece, of.fields.size(), name_of, next) != base::kNoArgument) return true;
  }
  return length != of.name.size();
}

// Names of other tools have no places for values.
void escape_name(trace::EventClass& of) {
  if (!is_changed_by_readers(of)) return;
  std::string text;
  for (const char c : of.name) text.append(c == '{' || c == '}' ? 2 : 1, c);
  of.name = std::move(text);
}

}  // namespace

void ClassNumbers::select(const EventTables& tables) {
  last_tables_ = &tables;
  last_ = &of_tables_[&tables];
}

ClassNumbers::Known& ClassNumbers::add(const EventTables& tables, uint32_t class_id) {
  const EventTables::Class& from = tables.at(class_id);
  trace::EventClass made;
  made.name = tables.texts[from.name];
  made.category = tables.texts[from.category];
  made.colour = from.colour;
  made.fields = tables.fields(from.fields);
  escape_name(made);
  const auto [types, are_new] = last_->types.try_emplace(from.fields);
  if (are_new)
    for (const trace::Field& field : made.fields) types->second.push_back(field.type);

  Known& known = last_->known[class_id];
  known.types = &types->second;
  auto found = ids_.find(key_of(made));
  if (found == ids_.end() && classes_.size() >= kMost) {
    known.has_name_in_value = true;
    made.name = "{}";
    made.fields.insert(made.fields.begin(), {"", trace::FieldType::String});
    found = ids_.find(key_of(made));
  }
  if (found == ids_.end()) {
    made.id = static_cast<uint32_t>(classes_.size() + 1);
    found = ids_.emplace(key_of(made), made.id).first;
    classes_.push_back(std::move(made));
  }
  known.id = found->second;
  return known;
}

}  // namespace kymo::import
