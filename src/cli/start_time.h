// Reads the start time of a trace, as a user writes it: "+10s", "14:30", "2026-01-31 14:30:05", "@1769869805.25".
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::cli {

// In ns of CLOCK_REALTIME. Without a date it is today, and times are local unless a Z follows. Throws
// kymo::InvalidArgument: other forms, and times before `now_ns`.
uint64_t parse_start_time(std::string_view text, uint64_t now_ns);

}  // namespace kymo::cli
