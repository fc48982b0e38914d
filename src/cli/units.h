// Numbers as people read and write them: "1,234,567", "1.20 ms", "64 MB" out; "30s", "500ms", "64MB", "1GiB" in.
//
// Sizes are decimal (1 MB is 1,000,000 bytes) unless written with an i (1 MiB is 1,048,576).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::cli {

std::string count_text(uint64_t count);  // 1,234,567

// "1 event", "1,024 events". Where the plural is not an s away, give it.
std::string count_of(uint64_t count, std::string_view one, std::string_view many = {});

std::string bytes_text(uint64_t bytes);       // 812 B, 1.2 MB, 128 GB
std::string duration_text(uint64_t ns);       // 812 ns, 1.20 µs, 34.1 s, 4 min 05 s, 2 h 03 min
std::string offset_text(int64_t ns);          // the same, with a sign: +1.20 s
std::string number_text(double value);        // of a counter: six significant digits, grouped where whole
std::string date_text(uint64_t realtime_ns);  // 2024-05-06 07:08:09 +0000, in the local time zone

// What users write. Throw kymo::InvalidArgument with the value and the forms that would be good.
uint64_t parse_count(std::string_view text);  // from 1
uint64_t parse_bytes(std::string_view text);
uint64_t parse_duration_ns(std::string_view text);

// How much a flight recorder keeps: a time or a size; the other is 0.
struct Flight {
  double seconds = 0;
  uint64_t bytes = 0;
};
Flight parse_flight(std::string_view text);

}  // namespace kymo::cli
