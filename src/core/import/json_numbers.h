// The numbers of Chrome's JSON traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "import/json_event.h"

namespace kymo::import {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number with up to 18 digits and nothing else; most numbers are. False: it is another one.
inline bool take_short_number(std::string_view text, int64_t& number) {
  constexpr size_t kMostDigits = 18;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > kMostDigits) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    value = value * 10 + (c - '0');
  }
  number = negative ? -value : value;
  return true;
}

// The type and value of a JSON number.
void read_number(std::string_view text, JsonArgument& argument);

// Microseconds as decimal text, in nanoseconds, rounded. Nothing: it is not a number, or out of range.
std::optional<int64_t> nanoseconds(std::string_view microseconds);

// The same for a point in time: one that is out of range is the nearest that is not.
std::optional<int64_t> time_nanoseconds(std::string_view microseconds);

}  // namespace kymo::import
