// Numbers as people read and write them: "1,234,567", "1.20 ms", "64 MB"; "10", "64MB", "1GiB", "30s", "500ms".
//
// Sizes are decimal (1 MB is 1,000,000 bytes) unless written with an i (1 MiB is 1,048,576).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::base {

// ---- Texts ---------------------------------------------------------------------------------------------------------

std::string count_text(uint64_t count);  // 1,234,567

// "1 event", "1,024 events". Pass the plural if it is not formed with an s.
std::string count_of(uint64_t count, std::string_view one, std::string_view many = {});

std::string bytes_text(uint64_t bytes);                   // 812 B, 1.2 MB, 128 GB
std::string duration_text(uint64_t ns);                   // 812 ns, 1.20 µs, 34.1 s, 4 min 05 s, 2 h 03 min
std::string percent_text(uint64_t part, uint64_t whole);  // 12.3 %; empty if the whole is 0
std::string offset_text(int64_t ns);                      // the same, with a sign: +1.20 s
std::string number_text(double value);                    // of a counter: six significant digits, grouped where whole
std::string date_text(uint64_t realtime_ns);              // 2024-05-06 07:08:09 +0000, in the local time zone

// ---- Parsing -------------------------------------------------------------------------------------------------------

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
