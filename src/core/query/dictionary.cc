#include "query/dictionary.h"

#include <algorithm>

#include "base/utf8.h"

namespace kymo::query {

void Dictionary::add(std::string_view untrusted) {
  std::string text = base::readable_text(untrusted);
  if (numbers_.try_emplace(text, 0).second) texts_.push_back(std::move(text));
}

void Dictionary::finish() {
  std::sort(texts_.begin(), texts_.end());
  for (size_t i = 0; i < texts_.size(); ++i) numbers_[texts_[i]] = static_cast<uint32_t>(i);
}

uint32_t Dictionary::find(std::string_view untrusted) const {
  const auto found = numbers_.find(base::readable_text(untrusted));
  return found == numbers_.end() ? kNull : found->second;
}

}  // namespace kymo::query
