// Parses counts, sizes and times: "10", "64MB", "1GiB", "30s", "500ms".
//
// Sizes are decimal (1 MB is 1,000,000 bytes) unless written with an i (1 MiB is 1,048,576).
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::base {

// All throw kymo::InvalidArgument with the value and the valid forms.
uint64_t parse_count(std::string_view text);  // min 1
// `forms` are the examples in the message, `max` is the maximum in the message about a number that is too large.
// A size without a unit is in bytes.
uint64_t parse_bytes(std::string_view text, std::string_view forms = "512KiB, 1MB, 64MB or 1GiB",
                     std::string_view max = "9000000TB");
uint64_t parse_duration_ns(std::string_view text, std::string_view forms = "500ms, 30s, 2m or 1h");

// A size to keep: needs a unit, and is not 0. Both would delete what the user wants to keep.
uint64_t parse_kept_bytes(std::string_view text, std::string_view forms);

// How much a flight recorder keeps: a time or a size. The other one is 0.
struct Flight {
  double seconds = 0;
  uint64_t bytes = 0;
};
Flight parse_flight(std::string_view text);

}  // namespace kymo::base
