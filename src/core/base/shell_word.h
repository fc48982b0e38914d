// Text as one word of a command line, so that a command that is shown can be copied to a shell.
#pragma once

#include <string>
#include <string_view>

namespace kymo::base {

// In single quotes: 'step {}'.
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
