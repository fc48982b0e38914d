// The times in a Chrome file: microseconds with three decimals, counted from a base that the traces of one job share.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/text_buffer.h"

namespace kymo::convert {

// The base for a trace that starts at this time, both in nanoseconds since 1970. As in Kineto, it is the start of a
// quarter of a year: the traces of several ranks have the same one, and a double still holds nanoseconds.
constexpr uint64_t chrome_base_ns(uint64_t start_ns) {
  constexpr uint64_t kStepNs = 7'889'238ull * 1'000'000'000;
  return start_ns / kStepNs * kStepNs;
}

// Nanoseconds as microseconds with exactly three decimals.
inline void append_microseconds(base::TextBuffer& out, uint64_t ns) {
  constexpr size_t kDigits = std::numeric_limits<uint64_t>::digits10 + 1, kDecimals = 3;
  out.append_in_place(kDigits + 1 + kDecimals, [ns](char* to) {
    const auto thousandths = static_cast<uint32_t>(ns % 1000);
    char* end = std::to_chars(to, to + kDigits, ns / 1000).ptr;
    *end++ = '.';
    *end++ = static_cast<char>('0' + thousandths / 100);
    *end++ = static_cast<char>('0' + thousandths / 10 % 10);
    *end++ = static_cast<char>('0' + thousandths % 10);
    return end;
  });
}

}  // namespace kymo::convert
