#include "cli/share.h"

#include <charconv>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::cli {

double parse_share(const std::string& text) {
  const bool has_unit = text.ends_with('%');
  const std::string_view number = has_unit ? std::string_view(text).substr(0, text.size() - 1) : text;
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() ||
      !(value >= 0 && value <= 10'000))
    throw InvalidArgument(base::format("'{}' is not a share: write it like 5%", text));
  if (!has_unit && value > 0)  // 0 is the same in every unit
    throw InvalidArgument(
        base::format("'{0}' has no unit: write {0}% for {0} percent, or {1}% for {0} times the "
                     "length of an iteration",
                     text, value * 100));
  return value / 100;
}

}  // namespace kymo::cli
