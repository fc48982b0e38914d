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
#include "base/value_format.h"

namespace kymo::base {

struct ShownValue {
  enum class Kind : uint8_t { Int, UInt, Double, Text, ByteCount, Pointer, Bool };
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
  constexpr uint64_t kStep = 1024;
  constexpr std::string_view kUnits[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
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
