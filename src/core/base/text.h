// Formats text with format strings that are checked at compile time: base::format("{} of {}", done, all).
//
// Uses fmt, which is compiled only once, in text.cc. fmt's own headers cost four seconds per file, so no other file
// includes them; this header costs a tenth of a second. fmt's names are in a namespace of Kymo, so that libkymo.a never
// conflicts with another version of fmt in the program that links it.
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
#include <vector>

namespace kymo::base {

// A literal that matches the values. Functions that pass a format string on take it.
template <typename... Args>
using FormatString = fmt::format_string<Args...>;

// The implementation of the templates below.
std::string format_arguments(fmt::string_view format, fmt::format_args arguments);
void append_arguments(std::string& out, fmt::string_view format, fmt::format_args arguments);

template <typename... Args>
std::string format(FormatString<Args...> format, Args&&... args) {
  return format_arguments(format, fmt::make_format_args(args...));
}

// The same, appended to `out`.
template <typename... Args>
void format_to(std::string& out, FormatString<Args...> format, Args&&... args) {
  append_arguments(out, format, fmt::make_format_args(args...));
}

// The texts of the items, with `separator` between them.
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

// The parts between the separators: one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);

// Two lowercase digits per byte.
std::string hex(std::span<const uint8_t> bytes);

}  // namespace kymo::base
