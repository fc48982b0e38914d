#include "fleet_commands/period.h"

#include <charconv>
#include <cmath>

#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

constexpr int64_t kDay = 86'400;
constexpr int64_t kLongestSpan = 36'500 * kDay;

}  // namespace

int64_t parse_period(const std::string& text) {
  const int64_t unit = text.ends_with('d') ? kDay : text.ends_with('w') ? 7 * kDay : 0;
  int64_t seconds = 0;
  if (unit > 0) {
    const char* const end = text.data() + text.size() - 1;
    double count = 0;  // "1.5d"
    const auto [stop, error] = std::from_chars(text.data(), end, count, std::chars_format::fixed);
    const double exact = count * static_cast<double>(unit);
    if (error == std::errc() && stop == end && exact >= 1 && exact <= static_cast<double>(kLongestSpan))
      seconds = std::llround(exact);
  } else {
    seconds = static_cast<int64_t>(base::parse_duration_ns(text, "12h, 7d or 4w") / 1'000'000'000);
  }
  if (seconds < 1 || seconds > kLongestSpan)
    throw InvalidArgument(base::format("'{}' is not a time like 12h, 1.5d, 7d or 4w, of at most 100 years", text));
  return seconds;
}

int32_t parse_from_zero(const std::string& text, std::string_view what, int32_t max) {
  int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= max) return value;
  throw InvalidArgument(
      base::format("'{}' is not {}: write a whole number from 0 to {}", base::printable(text), what, max));
}

}  // namespace kymo::cli
