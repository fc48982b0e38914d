// Periods of days, as options give them: "12h", "7d", "1.5d", "4w".
#pragma once

#include <cstdint>
#include <string>

namespace kymo::cli {

// In seconds. Throws kymo::InvalidArgument with the value and the forms.
int64_t parse_period(const std::string& text);

}  // namespace kymo::cli
