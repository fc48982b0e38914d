// Parses counts, sizes and times: "10", "64MB", "1GiB", "30s", "500ms".
//
// Sizes are decimal (1 MB is 1,000,000 bytes) unless written with an i (1 MiB is 1,048,576).
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::base {

// All throw kymo::InvalidArgument with the value and the valid forms.
uint64_t parse_count(std::string_view text);  // min 1
uint64_t parse_bytes(std::string_view text);
uint64_t parse_duration_ns(std::string_view text);

// How much a flight recorder keeps: a time or a size. The other one is 0.
struct Flight {
  double seconds = 0;
  uint64_t bytes = 0;
};
Flight parse_flight(std::string_view text);

}  // namespace kymo::base
