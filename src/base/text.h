// Text by format strings, checked when they are compiled: base::format("{} of {}", done, all).
//
// fmt does the work, and is compiled once, in text.cc. Its own headers cost every file that includes them four seconds,
// so no other file includes them; this one takes a tenth of a second. fmt's names are in a namespace of Kymo's, so that
// libkymo.a never meets another version of fmt in the program that links it.
#pragma once

#define FMT_BEGIN_NAMESPACE \
  namespace fmt {           \
  inline namespace for_kymo {
#define FMT_END_NAMESPACE \
  }                       \
  }
#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kymo::base {

// A literal that fits the values; a function that passes one on takes it.
template <typename... Args>
using FormatString = fmt::format_string<Args...>;

// The work behind the templates below.
std::string format_arguments(fmt::string_view format, fmt::format_args arguments);
void append_arguments(std::string& out, fmt::string_view format, fmt::format_args arguments);

template <typename... Args>
std::string format(FormatString<Args...> format, Args&&... args) {
  return format_arguments(format, fmt::make_format_args(args...));
}

// The same, at the end of `out`.
template <typename... Args>
void format_to(std::string& out, FormatString<Args...> format, Args&&... args) {
  append_arguments(out, format, fmt::make_format_args(args...));
}

// The items' texts with `separator` between them.
template <typename Items>
std::string join(const Items& items, std::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    is_first = false;
    if constexpr (std::convertible_to<decltype(item), std::string_view>) {
      text += std::string_view(item);
    } else {
      format_to(text, "{}", item);
    }
  }
  return text;
}

// Two lowercase digits a byte.
std::string hex(std::span<const uint8_t> bytes);

}  // namespace kymo::base
