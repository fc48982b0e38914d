#include "serve/names.h"

#include <algorithm>

#include "base/name_places.h"

namespace kymo::serve {

uint32_t NameTable::of_class(std::string_view name, std::string_view category) {
  return find_or_add(name, category, kNone, false, kNone);
}

uint32_t NameTable::of_text(std::string_view text, uint32_t base) {
  return find_or_add(text, entry(base).category, base, true, base);
}

uint32_t NameTable::of_inline(std::string_view text) {
  const uint32_t found = find_or_add(text, {}, kNone, true, kNone);
  return found != kNone ? found : of_class("(other names)", {});
}

uint32_t NameTable::find_or_add(std::string_view text, std::string_view category, uint32_t base, bool is_text,
                                uint32_t otherwise) {
  text = base::text_part(text, 0, std::min(text.size(), kMaxLength));
  std::string key(text);
  key.push_back('\0');
  key.append(category);
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  if (found != ids_.end()) return found->second;
  if (is_text) {
    if (texts_ >= kMaxTexts || text_bytes_ + text.size() > kMaxTextBytes) return otherwise;
    ++texts_;
    text_bytes_ += text.size();
  }
  const uint32_t id = static_cast<uint32_t>(entries_.size());
  entries_.push_back({std::string(text), std::string(category), base == kNone ? id : base});
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
