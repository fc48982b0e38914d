// Reads the numbers of unwind tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kymo::stack {

// Reads tables, never beyond their end: after that everything is 0 and `failed`.
struct TableReader {
  const unsigned char* at;
  const unsigned char* end;
  bool failed = false;

  bool more() const { return !failed && at < end; }
  void skip(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end - at))
      failed = true, at = end;
    else
      at += bytes;
  }
  template <class T>
  T number() {
    T value{};
    if (static_cast<size_t>(end - at) < sizeof value)
      failed = true, at = end;
    else
      std::memcpy(&value, at, sizeof value), at += sizeof value;
    return value;
  }
  uint64_t unsigned_number() {  // LEB128
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed = true;
    return 0;
  }
  int64_t signed_number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = number<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    failed = true;
    return 0;
  }
};

}  // namespace kymo::stack
