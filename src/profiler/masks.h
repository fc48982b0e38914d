// What is to be watched, as people say it: modes of start(), KYMO_SIGNPOSTS and KYMO_PROFILE_LOG. docs/profiler.md has
// the words and what each means.
//
// Both masks are numbers (decimal, 0x…, 0…) or words, separated by commas; case and blanks do not matter, and numbers
// and words may stand together. All functions throw InvalidArgument with the value and what would have been good.
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

// "interval", "event" or both: kIntervals, kEvents and all types. Nothing, or anything else, is refused.
uint32_t parse_mode(std::string_view text);

// With what the bits imply: kAllEvents and kAllIntervals become kEvents and kIntervals of all types; a type without
// either is an interval; either without a type, or kSchedule, is of all types. kSchedule with events alone is refused,
// because a point has no part before it.
uint32_t parse_signposts(std::string_view text);

// kStatistics becomes all three kinds.
uint32_t parse_log(std::string_view text);

}  // namespace kymo::profiler
