// The text of an argument in a name, and the name with its arguments. Allocates nothing, and does not depend on the
// locale. `Out` has put(const char*, size_t).
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include "base/name_places.h"

namespace kymo::base {

// How a place in a name shows its argument: what stands behind the colon of "{:>8.3f}", in Python's notation. The
// conversions "!r" and places inside of a format are not supported.
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

struct ShownValue {
  // The numbers of kymo_type and trace::FieldType.
  enum class Kind : uint8_t { Int = 1, UInt = 2, Double = 3, Text = 4, ByteCount = 5, Pointer = 6, Bool = 7 };
  // A number of a newer version of Kymo is shown as a number.
  static constexpr Kind kind_of(uint32_t type) noexcept {
    return type >= 1 && type <= 7 ? static_cast<Kind>(type) : Kind::UInt;
  }

  Kind kind = Kind::UInt;
  uint64_t bits = 0;  // of all but doubles and texts; an Int as two's complement
  double real = 0;
  std::string_view text = {};
};

namespace detail {

// Room for every double with the most digits behind its point, and for separators.
struct ValueDigits {
  char bytes[768];
  size_t size = 0;

  void put(std::string_view text) noexcept {
    for (const char c : text)
      if (size < sizeof bytes) bytes[size++] = c;
  }
  template <class... How>
  void put_number(How... how) noexcept {
    const auto made = std::to_chars(bytes + size, bytes + sizeof bytes, how...);
    if (made.ec == std::errc{}) size = static_cast<size_t>(made.ptr - bytes);
  }
  void to_upper() noexcept {
    for (size_t i = 0; i < size; ++i)
      if (bytes[i] >= 'a' && bytes[i] <= 'z') bytes[i] = static_cast<char>(bytes[i] - 'a' + 'A');
  }
  // Separates the first `digits` of it.
  void group(size_t digits, size_t size_of_group, char separator) noexcept {
    if (digits > size) return;
    for (size_t at = digits; at > size_of_group;) {
      at -= size_of_group;
      if (size == sizeof bytes) return;
      for (size_t i = size++; i > at; --i) bytes[i] = bytes[i - 1];
      bytes[at] = separator;
    }
  }
  std::string_view text() const noexcept { return {bytes, size}; }
};

inline size_t character_count(std::string_view text) noexcept {
  size_t count = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++count;
  return count;
}

template <class Out>
void put_padded(std::string_view prefix, std::string_view body, const ValueFormat& format, char usual_align, Out& out) {
  const size_t shown = character_count(prefix) + character_count(body);
  const size_t missing = format.width > shown ? format.width - shown : 0;
  const bool zeros = format.zero && format.align == 0;
  const char align = zeros && usual_align == '>' ? '=' : format.align != 0 ? format.align : usual_align;
  const std::string_view fill = zeros ? "0" : format.fill;
  const size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const auto pad = [&](size_t times) {
    for (size_t i = 0; i < times; ++i) out.put(fill.data(), fill.size());
  };
  pad(before);
  out.put(prefix.data(), prefix.size());
  if (align == '=') pad(missing);
  out.put(body.data(), body.size());
  if (align == '<' || align == '^') pad(missing - before);
}

// The min number of digits that reads back as the same number. An exponent is used only to avoid many zeros.
inline void put_shortest(ValueDigits& digits, double value) noexcept {
  constexpr double kSmall = 1e-4, kLarge = 1e16;
  const bool exponent = value != 0 && (value < kSmall || value >= kLarge);
  digits.put_number(value, exponent ? std::chars_format::scientific : std::chars_format::fixed);
}

inline void put_byte_count(ValueDigits& digits, uint64_t bytes) noexcept {
  constexpr uint64_t kStep = 1000;
  constexpr std::string_view kUnits[] = {" kB", " MB", " GB", " TB", " PB", " EB"};
  if (bytes < kStep) {
    digits.put_number(bytes);
    return digits.put(" B");
  }
  size_t unit = 0;
  double scaled = static_cast<double>(bytes) / kStep;
  for (; scaled >= kStep && unit + 1 < std::size(kUnits); ++unit) scaled /= kStep;
  const bool whole = scaled == static_cast<double>(static_cast<uint64_t>(scaled));
  digits.put_number(scaled, std::chars_format::fixed, whole ? 0 : 1);
  digits.put(kUnits[unit]);
}

inline std::string_view sign_text(bool is_negative, const ValueFormat& format) noexcept {
  return is_negative ? "-" : format.sign == '+' ? "+" : format.sign == ' ' ? " " : "";
}

template <class Out>
bool put_text(std::string_view text, const ValueFormat& format, Out& out) {
  if (format.type != 0 && format.type != 's') return false;
  if (format.sign != '-' || format.alternate || format.group != 0 || format.align == '=') return false;
  if (format.precision >= 0) {
    size_t end = 0;
    for (int32_t left = format.precision; end < text.size(); ++end)
      if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && left-- == 0) break;
    text = text_part(text, 0, end);
  }
  put_padded({}, text, format, '<', out);
  return true;
}

template <class Out>
bool put_double(double value, const ValueFormat& format, Out& out) {
  if (format.alternate) return false;
  const bool is_nan = value != value;
  const bool is_negative = std::bit_cast<int64_t>(value) < 0 && !is_nan;
  const double size = is_negative ? -value : value;
  const bool is_percent = format.type == '%';
  const int precision = format.precision >= 0 ? format.precision : 6;
  ValueDigits digits;
  switch (format.type) {
    case 'f':
    case 'F':
    case '%':
      digits.put_number(is_percent ? size * 100 : size, std::chars_format::fixed, precision);
      break;
    case 'e':
    case 'E':
      digits.put_number(size, std::chars_format::scientific, precision);
      break;
    case 'g':
    case 'G':
      digits.put_number(size, std::chars_format::general, precision);
      break;
    case 0:
      if (format.precision >= 0)
        digits.put_number(size, std::chars_format::general, precision);
      else
        put_shortest(digits, size);
      break;
    default:
      return false;
  }
  if (format.type == 'F' || format.type == 'E' || format.type == 'G') digits.to_upper();
  if (format.group != 0 && size <= std::numeric_limits<double>::max())
    digits.group(std::min(digits.text().find_first_not_of("0123456789"), digits.size), 3, format.group);
  if (is_percent) digits.put("%");
  put_padded(sign_text(is_negative, format), digits.text(), format, '>', out);
  return true;
}

template <class Out>
bool put_integer(uint64_t bits, bool is_signed, const ValueFormat& format, Out& out) {
  const bool is_negative = is_signed && static_cast<int64_t>(bits) < 0;
  const uint64_t size = is_negative ? 0 - bits : bits;
  struct Base {
    int number;
    std::string_view prefix;
  };
  Base base{10, ""};
  switch (format.type) {
    case 0:
    case 'd':
      break;
    case 'x':
      base = {16, "0x"};
      break;
    case 'X':
      base = {16, "0X"};
      break;
    case 'o':
      base = {8, "0o"};
      break;
    case 'b':
      base = {2, "0b"};
      break;
    case 's':
      return false;
    default:
      return put_double(is_negative ? -static_cast<double>(size) : static_cast<double>(size), format, out);
  }
  if (format.precision >= 0) return false;
  ValueDigits digits, prefix;
  digits.put_number(size, base.number);
  if (format.type == 'X') digits.to_upper();
  if (format.group != 0) digits.group(digits.size, base.number == 10 ? 3 : 4, format.group);
  prefix.put(sign_text(is_negative, format));
  if (format.alternate) prefix.put(base.prefix);
  put_padded(prefix.text(), digits.text(), format, '>', out);
  return true;
}

}  // namespace detail

// False, and nothing is written: the format is for values of another type.
template <class Out>
bool put_value(const ShownValue& value, const ValueFormat& format, Out& out) {
  using Kind = ShownValue::Kind;
  switch (value.kind) {
    case Kind::Text:
      return detail::put_text(value.text, format, out);
    case Kind::Double:
      return detail::put_double(value.real, format, out);
    case Kind::Bool:
      if (format.type == 0 || format.type == 's')
        return detail::put_text(value.bits != 0 ? "true" : "false", format, out);
      break;
    case Kind::ByteCount:
      if (format.type == 0 && format.group == 0) {
        detail::ValueDigits digits;
        detail::put_byte_count(digits, value.bits);
        return detail::put_text(digits.text(), format, out);
      }
      break;
    case Kind::Pointer:
      if (format.type == 0) {
        ValueFormat hexadecimal = format;
        hexadecimal.alternate = true;
        hexadecimal.type = 'x';
        return detail::put_integer(value.bits, false, hexadecimal, out);
      }
      break;
    case Kind::Int:
    case Kind::UInt:
      break;
  }
  return detail::put_integer(value.bits, value.kind == Kind::Int, format, out);
}

// The name with `count` arguments in its places. A place that no argument fills stays as it is written, and a name
// without arguments too. `name_of(i)` is the name of argument i, or empty; `value_of(i)` is its ShownValue.
template <class NameOf, class ValueOf, class Out>
void put_name(std::string_view name, size_t count, NameOf&& name_of, ValueOf&& value_of, Out& out) {
  if (count == 0) return out.put(name.data(), name.size());
  NamePieces pieces(name);
  NamePiece piece;
  ValueFormat format;
  size_t next = 0;
  while (pieces.next(piece)) {
    const size_t argument = argument_of(piece, count, name_of, next);
    const bool is_filled = argument != kNoArgument && parse_value_format(piece.format, format) &&
                           put_value(value_of(argument), format, out);
    if (!is_filled) out.put(piece.text.data(), piece.text.size());
  }
}

}  // namespace kymo::base
