#include "serve/names.h"

#include <algorithm>

#include "base/name_places.h"

namespace kymo::serve {

uint32_t NameTable::of_class(std::string_view name, std::string_view category, uint32_t colour) {
  return find_or_add({std::string(name), std::string(category), kNone, colour}, false, kNone);
}

uint32_t NameTable::of_text(std::string_view text, uint32_t base) {
  Entry of_class = entry(base);
  return find_or_add({std::string(text), std::move(of_class.category), base, of_class.colour}, true, base);
}

uint32_t NameTable::of_event(const trace::EventClass* event_class, bool is_inline, std::string_view text) {
  if (event_class == nullptr) return is_inline ? of_inline(text) : of_class("(unknown class)", {});
  const uint32_t base = of_class(event_class->name, event_class->category, event_class->colour);
  return text.empty() || text == event_class->name ? base : of_text(text, base);
}

uint32_t NameTable::of_inline(std::string_view text) {
  const uint32_t found = find_or_add({std::string(text), {}, kNone, 0}, true, kNone);
  return found != kNone ? found : of_class("(other names)", {});
}

uint32_t NameTable::find_or_add(Entry added, bool is_text, uint32_t otherwise) {
  added.text = base::text_part(added.text, 0, std::min(added.text.size(), kMaxLength));
  std::string key = added.text;
  key.push_back('\0');
  key += added.category;
  if (added.colour != 0) key.append(reinterpret_cast<const char*>(&added.colour), sizeof added.colour);
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  if (found != ids_.end()) return found->second;
  if (is_text) {
    if (texts_ >= kMaxTexts || text_bytes_ + added.text.size() > kMaxTextBytes) return otherwise;
    ++texts_;
    text_bytes_ += added.text.size();
  }
  const uint32_t id = static_cast<uint32_t>(entries_.size());
  if (added.base == kNone) added.base = id;
  entries_.push_back(std::move(added));
  ids_.emplace(std::move(key), id);
  return id;
}

uint32_t NameTable::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(entries_.size());
}

NameTable::Entry NameTable::entry(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return id < entries_.size() ? entries_[id] : Entry{};
}

std::vector<NameTable::Entry> NameTable::entries(uint32_t from, size_t most) const {
  const std::lock_guard lock(mutex_);
  if (from >= entries_.size()) return {};
  const size_t count = std::min<size_t>(most, entries_.size() - from);
  return {entries_.begin() + from, entries_.begin() + static_cast<ptrdiff_t>(from + count)};
}

}  // namespace kymo::serve
