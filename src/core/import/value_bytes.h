// The values of an event as bytes, in the order of the fields of its class: numbers with as few bytes as they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace kymo::import {

inline constexpr size_t kLongestVarint = 10;

// Returns the end of what it wrote.
inline char* put_varint(char* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}
inline void put_varint(std::string& to, uint64_t value) {
  char buffer[kLongestVarint];
  to.append(buffer, static_cast<size_t>(put_varint(buffer, value) - buffer));
}
// A number below 2^32 in kWideVarint bytes, so that it can be replaced later.
inline constexpr size_t kWideVarint = 5;
inline void put_wide_varint(char* to, uint32_t value) {
  for (size_t i = 0; i + 1 < kWideVarint; ++i, value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to = static_cast<char>(value);
}
inline uint64_t take_varint(const char*& at) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}
// Small negative numbers are small too.
inline uint64_t to_zigzag(uint64_t bits) {
  return (bits << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63);
}
inline uint64_t from_zigzag(uint64_t value) { return (value >> 1) ^ (~(value & 1) + 1); }

inline double take_double(const char*& at) {
  double value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace kymo::import
