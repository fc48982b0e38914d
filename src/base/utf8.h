// Text that viewers accept: a trace's names are bytes from a program, which may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kymo::base {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// The length of the UTF-8 sequence at the front of a text that is not empty; 0 where there is none: truncated,
// overlong, a surrogate, beyond the last code point.
size_t utf8_length(std::string_view text);

// The text itself where it is valid, otherwise a copy in `buffer` with every invalid byte replaced.
std::string_view valid_utf8(std::string_view untrusted, std::string& buffer);

}  // namespace kymo::base
