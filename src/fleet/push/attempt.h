// The number of an attempt to push a trace.
#pragma once

#include <chrono>
#include <cstdint>

namespace kymo::push {

// Time-ordered and random: the newest attempt of a trace is the largest. It is larger than `after`, even if the clock
// was set back since.
uint64_t new_attempt(uint64_t after = 0);

// Attempts that began before this time are smaller.
uint64_t attempt_of(std::chrono::system_clock::time_point time);

// A push writes the mark right after the counts of rows. Attempts before this one that have counts and no mark were
// interrupted, or their mark was lost: they are older than ten minutes, and with
// the usual number of retries no push takes that long for a mark.
uint64_t unmarked_before();

}  // namespace kymo::push
