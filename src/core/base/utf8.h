// Makes valid UTF-8 for viewers: names in a trace are bytes from a program and may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kymo::base {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// The length of the UTF-8 sequence at the start of a text that is not empty; 0 if it is not valid: truncated, overlong,
// a surrogate, beyond the last code point.
size_t utf8_length(std::string_view text);

// The text itself if it is valid, otherwise a copy in `buffer` with every invalid byte replaced.
std::string_view valid_utf8(std::string_view untrusted, std::string& buffer);

// The text with every invalid byte and every zero byte replaced: for readers whose texts end at a zero, such as SQL.
std::string readable_text(std::string_view untrusted);

}  // namespace kymo::base
