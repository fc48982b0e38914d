#include "query/dictionary.h"

#include <algorithm>

#include "base/utf8.h"

namespace kymo::query {

std::string to_sql_text(std::string_view untrusted) {
  std::string buffer;
  const std::string_view valid = base::valid_utf8(untrusted, buffer);
  std::string text;
  text.reserve(valid.size());
  for (const char c : valid) {
    if (c == '\0')
      text += base::kReplacementCharacter;
    else
      text.push_back(c);
  }
  return text;
}

void Dictionary::add(std::string_view untrusted) {
  std::string text = to_sql_text(untrusted);
  if (numbers_.try_emplace(text, 0).second) texts_.push_back(std::move(text));
}

void Dictionary::finish() {
  std::sort(texts_.begin(), texts_.end());
  for (size_t i = 0; i < texts_.size(); ++i) numbers_[texts_[i]] = static_cast<uint32_t>(i);
}

uint32_t Dictionary::find(std::string_view untrusted) const {
  const auto found = numbers_.find(to_sql_text(untrusted));
  return found == numbers_.end() ? kNull : found->second;
}

}  // namespace kymo::query
