// The version in traces and of `kymo --version`.
#pragma once

namespace kymo::base {
inline constexpr const char* kVersion = "0.1.0";
}
