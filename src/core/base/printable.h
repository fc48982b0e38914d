// Makes text from a trace safe for a terminal, and measures it.
//
// A trace is untrusted: a name may contain line breaks, escape sequences that control the terminal, or bytes that are
// not UTF-8. Every name must go through printable() before it is shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kymo::base {

// Shows control characters, characters that reorder the line, and bytes that are not UTF-8 as escapes: \n, \x1b.
std::string printable(std::string_view untrusted);

// The number of columns on a terminal; each code point counts as one.
size_t display_width(std::string_view text);

// At most `width` columns. An ellipsis replaces what was cut off, at the end, at the front or in the middle.
std::string shorten(std::string_view text, size_t width, std::string_view ellipsis = "…");
std::string shorten_front(std::string_view text, size_t width, std::string_view ellipsis = "…");
std::string shorten_middle(std::string_view text, size_t width, std::string_view ellipsis = "…");

}  // namespace kymo::base
