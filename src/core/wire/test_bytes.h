// Bytes for tests: read from hex, truncated, and changed at one place.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace kymo::wire::testing {

// Pairs of hex digits; spaces are ignored.
inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) continue;
    if (high >= 0) bytes.push_back(static_cast<std::byte>(high * 16 + digit));
    high = high >= 0 ? -1 : digit;
  }
  return bytes;
}

template <std::unsigned_integral T>
std::vector<std::byte> with(std::vector<std::byte> bytes, size_t at, T value) {
  base::store(bytes.data() + at, value);
  return bytes;
}

}  // namespace kymo::wire::testing
