// Text from a trace made safe and measured for a terminal.
//
// A trace is untrusted: a name in it may hold line breaks, escape sequences that would drive the terminal, or bytes
// that are not UTF-8. Every name goes through printable() before it is shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kymo::cli {

// Control characters, characters that reorder the line, and bytes that are not UTF-8, as visible escapes: \n, \x1b.
std::string printable(std::string_view untrusted);

// Columns on a terminal, counting a code point as one.
size_t display_width(std::string_view text);

// At most `width` columns; what was cut shows as an ellipsis.
std::string shorten(std::string_view text, size_t width);

}  // namespace kymo::cli
