// The version that traces carry and `kymo --version` prints.
#pragma once

namespace kymo::base {
inline constexpr const char* kVersion = "0.1.0";
}
