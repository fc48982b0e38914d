// A part of a text, for code that runs inside other programs. std::string_view::substr can throw, and that alone links
// the C++ library's support for exceptions, which allocates memory in every program.
#pragma once

#include <cstddef>
#include <string_view>

namespace kymo::base {

// From `from`, at most `count` characters. Empty if there are none.
constexpr std::string_view text_part(std::string_view text, size_t from,
                                     size_t count = std::string_view::npos) noexcept {
  if (from >= text.size()) return {};
  text.remove_prefix(from);
  if (count < text.size()) text.remove_suffix(text.size() - count);
  return text;
}

}  // namespace kymo::base
