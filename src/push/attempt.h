// The number of an attempt to push a trace.
#pragma once

#include <chrono>
#include <cstdint>

namespace kymo::push {

// Time-ordered and random: the newest attempt of a trace is the largest.
uint64_t new_attempt();

// Attempts that began before this time are smaller.
uint64_t attempt_of(std::chrono::system_clock::time_point time);

}  // namespace kymo::push
