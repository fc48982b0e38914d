// Numbers as people read them: "1,234,567", "1.20 ms", "64 MB". (How they write them: quantity.h.)
//
// Sizes are decimal: 1 MB is 1,000,000 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::base {

std::string count_text(uint64_t count);  // 1,234,567

// "1 event", "1,024 events". Pass the plural if it is not formed with an s.
std::string count_of(uint64_t count, std::string_view one, std::string_view many = {});

std::string bytes_text(uint64_t bytes);       // 812 B, 1.2 MB, 128 GB
std::string duration_text(uint64_t ns);       // 812 ns, 1.20 µs, 34.1 s, 4 min 05 s, 2 h 03 min
std::string offset_text(int64_t ns);          // the same, with a sign: +1.20 s
std::string number_text(double value);        // of a counter: six significant digits, grouped where whole
std::string date_text(uint64_t realtime_ns);  // 2024-05-06 07:08:09 +0000, in the local time zone

}  // namespace kymo::base
