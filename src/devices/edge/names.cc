#include "edge/names.h"

#include <new>

#include "base/hash.h"

namespace kymo::edge {

uint32_t Names::look_up(std::string_view name, Recent& recent) noexcept try {
  if (texts_.size() * 2 >= table_.size()) enlarge();
  const size_t mask = table_.size() - 1;
  size_t at = base::hash(base::as_bytes(name)) & mask;
  while (table_[at] != kNone && texts_[table_[at]] != name) at = (at + 1) & mask;
  if (table_[at] == kNone) {
    const uint32_t number = texts_.size();
    if (texts_.append(name) == nullptr) return kNone;
    table_[at] = number;
  }
  const std::string& text = texts_[table_[at]];
  recent = {name.data(), text.data(), name.size(), table_[at]};
  return table_[at];
} catch (const std::bad_alloc&) {
  return kNone;
}

void Names::enlarge() {
  std::vector<uint32_t> larger(table_.empty() ? 64 : table_.size() * 2, kNone);
  for (uint32_t number = 0; number < texts_.size(); ++number) {
    size_t at = base::hash(base::as_bytes(texts_[number])) & (larger.size() - 1);
    while (larger[at] != kNone) at = (at + 1) & (larger.size() - 1);
    larger[at] = number;
  }
  table_ = std::move(larger);
}

}  // namespace kymo::edge
