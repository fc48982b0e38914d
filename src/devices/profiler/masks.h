// What to watch, as users write it: the modes of start(), KYMO_SIGNPOSTS and KYMO_PROFILE_LOG. docs/profiler.md lists
// the words and their meanings.
//
// Both masks are numbers (decimal, 0x…, 0…) or words, separated by commas. Case and blanks do not matter, and numbers
// and words can be mixed. All functions throw InvalidArgument with the value and the valid values.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::profiler {

// KYMO_SIGNPOSTS.
inline constexpr uint32_t kAllEvents = 1 << 0, kAllIntervals = 1 << 1, kWait = 1 << 2, kSchedule = 1 << 3,
                          kIntervals = 1 << 4, kEvents = 1 << 5, kTraceOperations = 1 << 16, kTraceCopies = 1 << 17,
                          kTraceFallbacks = 1 << 18;
inline constexpr uint32_t kTraceAll = kTraceOperations | kTraceCopies | kTraceFallbacks;

// KYMO_PROFILE_LOG.
inline constexpr uint32_t kLogOperations = 1 << 0, kLogCopies = 1 << 1, kLogFallbacks = 1 << 2, kStatistics = 1 << 3,
                          kOperationStatistics = 1 << 4, kCopyStatistics = 1 << 5, kFallbackStatistics = 1 << 6,
                          kLogGpuTime = 1 << 7, kLogCallTime = 1 << 8, kLogBuffers = 1 << 9;
inline constexpr uint32_t kAllStatistics = kOperationStatistics | kCopyStatistics | kFallbackStatistics;

// "interval", "event" or both: kIntervals, kEvents and all types. An empty text, or any other text, is refused.
uint32_t parse_mode(std::string_view text);

// Adds what the bits imply. kAllEvents and kAllIntervals become kEvents and kIntervals of all types. A type without
// either is an interval. Either without a type means all types, and so does kSchedule. kSchedule with events only is
// refused, because an event has no scheduling part.
uint32_t parse_signposts(std::string_view text);

// kStatistics becomes all three kinds.
uint32_t parse_log(std::string_view text);

}  // namespace kymo::profiler
