#include "device/allocator/options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device {
namespace {

struct Ratio {
  std::string text;  // NAME=value, for messages
  double value;
};

std::optional<Ratio> ratio_of(base::Variable name, base::Variable alias) {
  for (const base::Variable variable : {name, alias}) {
    const char* const text = base::environment(variable);
    if (text == nullptr || *text == '\0') continue;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != '\0' || !std::isfinite(value))
      throw InvalidArgument(base::format("{}={} is not valid: use a ratio of the device's recommended maximum, 0 to {}",
                                         variable.name(), text, kMaxWatermark));
    return Ratio{base::format("{}={}", variable.name(), text), value};
  }
  return std::nullopt;
}

void check_high(const std::string& what, double high) {
  if (!(high >= 0 && high <= kMaxWatermark))
    throw InvalidArgument(base::format("{} is out of range: use 0 (no limit) to {}", what, kMaxWatermark));
}

void check_low(const std::string& what, double low, double high) {
  const double max = high > 0 ? high : kMaxWatermark;
  if (!(low >= 0 && low <= max))
    throw InvalidArgument(base::format("{} is out of range: use 0 (never collect) to {}{}", what, max,
                                       max < kMaxWatermark ? ", the high watermark ratio" : ""));
}

}  // namespace

AllocatorOptions AllocatorOptions::defaults(bool unified) {
  AllocatorOptions options;
  options.unified = unified;
  if (unified) {
    options.high = 1.7;
    options.low = 1.4;
  }
  return options;
}

AllocatorOptions AllocatorOptions::from_environment(bool unified) {
  AllocatorOptions options = defaults(unified);
  if (const auto high = ratio_of("KYMO_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_HIGH_WATERMARK_RATIO")) {
    check_high(high->text, high->value);
    options.high = high->value;
    if (options.high > 0) options.low = std::min(options.low, options.high);
  }
  if (const auto low = ratio_of("KYMO_LOW_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO")) {
    check_low(low->text, low->value, options.high);
    options.low = low->value;
  }
  return options;
}

void AllocatorOptions::check() const {
  check_high(base::format("high watermark ratio {}", high), high);
  check_low(base::format("low watermark ratio {}", low), low, kMaxWatermark);
}

}  // namespace kymo::device
