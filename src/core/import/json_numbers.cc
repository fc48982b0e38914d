#include "import/json_numbers.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace kymo::import {
namespace {

constexpr double kFarthest = 9.2e18;  // nanoseconds

}  // namespace

void read_number(std::string_view text, JsonArgument& argument) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto is_all = [end](std::from_chars_result result) { return result.ptr == end && result.ec == std::errc(); };
  int64_t number = 0;
  if (take_short_number(text, number) || is_all(std::from_chars(begin, end, number))) {
    argument.type = JsonArgument::Type::Int;
    argument.bits = static_cast<uint64_t>(number);
  } else if (uint64_t large = 0; is_all(std::from_chars(begin, end, large))) {
    argument.type = JsonArgument::Type::UInt;
    argument.bits = large;
  } else {
    argument.type = JsonArgument::Type::Double;
    argument.real = 0;
    std::from_chars(begin, end, argument.real);
  }
}

std::optional<int64_t> nanoseconds(std::string_view text) {
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 1000 - 1;
  const bool negative = text.starts_with('-');
  size_t at = negative || text.starts_with('+') ? 1 : 0;
  uint64_t whole = 0;
  const size_t first = at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    whole = whole * 10 + static_cast<uint64_t>(text[at] - '0');
    if (whole > kMost) return std::nullopt;
  }
  const bool has_digits = at > first;
  uint64_t ns = 0;
  bool plain = has_digits;
  if (plain && at < text.size() && text[at] == '.') {
    uint64_t unit = 100;
    bool round_up = false;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (unit > 0) {
        ns += static_cast<uint64_t>(text[at] - '0') * unit;
        unit /= 10;
        if (unit == 0) round_up = at + 1 < text.size() && text[at + 1] >= '5' && text[at + 1] <= '9';
      }
    }
    ns += round_up ? 1 : 0;
  }
  if (!plain || at != text.size()) {  // an exponent, or not a number
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    const double scaled = value * 1000;
    if (!(std::abs(scaled) < kFarthest)) return std::nullopt;
    return static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  const auto total = static_cast<int64_t>(whole * 1000 + ns);
  return negative ? -total : total;
}

std::optional<int64_t> time_nanoseconds(std::string_view text) {
  if (const auto ns = nanoseconds(text)) return ns;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error != std::errc() || !(std::abs(value * 1000) >= kFarthest))
    return std::nullopt;
  return static_cast<int64_t>(std::copysign(kFarthest, value));
}

}  // namespace kymo::import
