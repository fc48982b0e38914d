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

}  // namespace kymo::push
