// Periods of days, as options give them: "12h", "7d", "1.5d", "4w". And numbers that may be 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::cli {

// In seconds. Throws kymo::InvalidArgument with the value and the forms.
int64_t parse_period(const std::string& text);

// Throws kymo::InvalidArgument: "'x' is not a rank: …".
int32_t parse_from_zero(const std::string& text, std::string_view what, int32_t max);

}  // namespace kymo::cli
