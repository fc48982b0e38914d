#include "fleet_commands/period.h"

#include <charconv>

#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"

namespace kymo::cli {
int64_t parse_period(const std::string& text) {
  constexpr int64_t kLongest = int64_t{36'500} * 86'400;
  const auto seconds = static_cast<int64_t>(base::parse_duration_ns(text, "12h, 1.5d, 7d or 4w") / 1'000'000'000);
  if (seconds >= 1 && seconds <= kLongest) return seconds;
  throw InvalidArgument(base::format("'{}' is not a time like 12h, 1.5d, 7d or 4w, of at most 100 years", text));
}

int32_t parse_from_zero(const std::string& text, std::string_view what, int32_t max) {
  int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= max) return value;
  throw InvalidArgument(
      base::format("'{}' is not {}: write a whole number from 0 to {}", base::printable(text), what, max));
}

}  // namespace kymo::cli
