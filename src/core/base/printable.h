// Text from a trace, made safe for terminals, viewers and shells.
//
// A trace is untrusted: names are bytes from a program and may be anything. A name may contain line breaks, escape
// sequences that control the terminal, or bytes that are not UTF-8. Every name must go through printable() before it is
// shown on a terminal.
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

constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// For one line of a log or a table: control characters are replaced by another one. Other bytes stay.
std::string without_controls(std::string_view untrusted, char replacement = '?');

// Shows control characters, characters that reorder the line, and bytes that are not UTF-8 as escapes: \n, \x1b.
std::string printable(std::string_view untrusted);

// The number of columns on a terminal; each code point counts as one.
size_t display_width(std::string_view text);

// At most `width` columns. An ellipsis replaces what was cut off, at the end, at the front or in the middle.
std::string shorten(std::string_view text, size_t width, std::string_view ellipsis = "…");
std::string shorten_front(std::string_view text, size_t width, std::string_view ellipsis = "…");
std::string shorten_middle(std::string_view text, size_t width, std::string_view ellipsis = "…");

// Text as one word of a command line, so that a command that is shown can be copied to a shell. In single quotes:
// 'step {}'.
inline std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The same, but as it is if a shell takes it as it is: run.kymo.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
  const bool is_plain = !text.empty() && text.find_first_not_of(kPlain) == text.npos;
  return is_plain ? std::string(text) : shell_quoted(text);
}

}  // namespace kymo::base
