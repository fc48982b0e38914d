#include "shader/preprocess/unroll_wish.h"

#include <algorithm>
#include <charconv>

namespace kymo::shader {
namespace {

// Takes the next word or number from the text; empty at its end.
std::string_view unroll_next_word(std::string_view& text) {
  constexpr std::string_view kBetween = " \t(),";
  text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
  const std::string_view found = text.substr(0, text.find_first_of(kBetween));
  text.remove_prefix(found.size());
  return found;
}

uint16_t unroll_count(std::string_view word) {
  if (word.empty() || word == "full" || word == "enable") return kUnrollAll;
  if (word == "disable") return kNeverUnroll;
  uint16_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  return error == std::errc() && end == word.data() + word.size() ? count : kNoUnrollWish;
}

}  // namespace

uint16_t unroll_wish(std::string_view pragma) {
  std::string_view word = unroll_next_word(pragma);
  const bool is_list = word == "clang" && unroll_next_word(pragma) == "loop";  // of wishes: vectorize(…) unroll(…)
  if (is_list) word = unroll_next_word(pragma);
  for (; !word.empty(); word = unroll_next_word(pragma)) {
    if (word == "nounroll") return kNeverUnroll;
    if (word == "unroll" || word == "unroll_count") return unroll_count(unroll_next_word(pragma));
    if (!is_list) break;
  }
  return kNoUnrollWish;
}

}  // namespace kymo::shader
