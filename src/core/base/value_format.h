// How a place in a name shows its argument: what stands behind the colon of "{:>8.3f}", in Python's notation. The
// conversions "!r" and places inside of a format are not supported. Allocates nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/text_part.h"

namespace kymo::base {

struct ValueFormat {
  std::string_view fill = " ";  // one character, in UTF-8
  char align = 0;               // < > ^ = or 0: as usual for the type
  char sign = '-';              // - + or a blank
  bool alternate = false;       // #: 0x before a hexadecimal number
  bool zero = false;            // zeros between the sign and the number
  char group = 0;               // , or _ between groups of digits
  uint32_t width = 0;
  int32_t precision = -1;  // -1: not given
  char type = 0;           // d x X o b, e E f F g G %, s; 0: not given
};

namespace detail {

constexpr bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

constexpr size_t utf8_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// False: it is too large.
constexpr bool take_number(std::string_view& text, uint32_t max, uint32_t& number) {
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + static_cast<uint32_t>(text[0] - '0');
    if (number > max) return false;
    text.remove_prefix(1);
  }
  return true;
}

constexpr bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace detail

// False: it is not a format. Widths are at most 500, precisions 100.
constexpr bool parse_value_format(std::string_view text, ValueFormat& format) noexcept {
  constexpr uint32_t kMaxWidth = 500, kMaxPrecision = 100;
  constexpr std::string_view kTypes = "dxXobeEfFgG%s";
  format = {};
  const size_t filled = text.empty() ? 0 : detail::utf8_length(text[0]);
  if (text.size() > filled && detail::is_align(text[filled])) {
    format.fill = text_part(text, 0, filled);
    format.align = text[filled];
    text.remove_prefix(filled + 1);
  } else if (!text.empty() && detail::is_align(text[0])) {
    format.align = text[0];
    text.remove_prefix(1);
  }
  for (const char sign : {'+', '-', ' '})
    if (detail::take(text, sign)) {
      format.sign = sign;
      break;
    }
  format.alternate = detail::take(text, '#');
  format.zero = detail::take(text, '0');
  if (!detail::take_number(text, kMaxWidth, format.width)) return false;
  for (const char group : {',', '_'})
    if (detail::take(text, group)) {
      format.group = group;
      break;
    }
  if (detail::take(text, '.')) {
    uint32_t precision = 0;
    if (text.empty() || text[0] < '0' || text[0] > '9') return false;
    if (!detail::take_number(text, kMaxPrecision, precision)) return false;
    format.precision = static_cast<int32_t>(precision);
  }
  if (text.empty()) return true;
  if (text.size() > 1 || kTypes.find(text[0]) == std::string_view::npos) return false;
  format.type = text[0];
  return true;
}

}  // namespace kymo::base
