// The clock of all records: the CPU's counter if its rate is constant, otherwise CLOCK_MONOTONIC.
//
// A tick costs a register read (7 to 9 ns here and on x86-64), a third of clock_gettime. Ticks are stored unchanged.
// From time to time a pair of (ticks, host time) is taken, so that a reader can convert them and report the possible
// error.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "record/layout.h"

namespace kymo::record {

#if defined(__x86_64__)
// False if the TSC can stop or change its rate.
extern bool tsc_is_invariant;
inline uint64_t ticks() noexcept {
  if (__builtin_expect(!tsc_is_invariant, 0)) return base::monotonic_ns();
  return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
// By the architecture, the generic timer has a constant rate on all cores.
inline uint64_t ticks() noexcept {
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
inline uint64_t ticks() noexcept { return base::monotonic_ns(); }
#endif

// Detects the counter. Call it once, before the first record.
void init_clock() noexcept;

struct TickSource {
  TickKind kind;
  uint64_t per_second;  // 0: unknown until two pairs are far enough apart
};
TickSource tick_source() noexcept;

// Costs about 2 µs.
base::ClockPair read_pair() noexcept;

}  // namespace kymo::record
