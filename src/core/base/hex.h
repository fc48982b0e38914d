// Bytes as hexadecimal digits, and back. Needs only the C library, so code inside malloc or a signal handler may use it
// too. base::hex() (text.h) makes a string.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::base {

// Writes two lowercase digits per byte, without a NUL. Returns the end.
inline char* put_hex(char* out, const uint8_t* bytes, size_t count) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < count; ++i) {
    *out++ = kDigits[bytes[i] >> 4];
    *out++ = kDigits[bytes[i] & 15];
  }
  return out;
}

// The value of a digit in upper or lower case; -1: it is none.
constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads `count` bytes. False: `text`, which has a NUL at its end, does not begin with that many digits.
inline bool read_hex(const char* text, uint8_t* bytes, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const int high = hex_digit(text[2 * i]), low = high >= 0 ? hex_digit(text[2 * i + 1]) : -1;
    if (low < 0) return false;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace kymo::base
