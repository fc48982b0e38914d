// The clock every record carries: the processor's own counter where it ticks evenly, CLOCK_MONOTONIC otherwise.
//
// A tick costs a register read (7 to 9 ns here and on x86-64), a third of clock_gettime. Ticks are stored as they came;
// pairs of (ticks, host time) taken now and then let a reader convert them and say how wrong that may be.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "record/layout.h"

namespace kymo::record {

#if defined(__x86_64__)
// False where the TSC stops or changes its rate.
extern bool tsc_is_invariant;
inline uint64_t ticks() noexcept {
  if (__builtin_expect(!tsc_is_invariant, 0)) return base::monotonic_ns();
  return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
// The generic timer is architected to tick evenly on all cores.
inline uint64_t ticks() noexcept {
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
inline uint64_t ticks() noexcept { return base::monotonic_ns(); }
#endif

// Asks the processor once; before the first record.
void init_clock() noexcept;

struct TickSource {
  TickKind kind;
  uint64_t per_second;  // 0: unknown until two pairs are far enough apart
};
TickSource tick_source() noexcept;

struct Pair {
  uint64_t ticks, monotonic_ns, realtime_ns, error_ns;
};
// The best of a few tries: the host's clocks read between two reads of the counter. About 2 µs.
Pair read_pair() noexcept;

}  // namespace kymo::record
