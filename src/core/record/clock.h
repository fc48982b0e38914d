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
inline bool has_counter() noexcept { return __builtin_expect(tsc_is_invariant, 1); }
inline uint64_t counter() noexcept { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
// By the architecture, the generic timer has a constant rate on all cores.
constexpr bool has_counter() noexcept { return true; }
inline uint64_t counter() noexcept {
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
constexpr bool has_counter() noexcept { return false; }
inline uint64_t counter() noexcept { return 0; }
#endif

// counter() is the hot path's own read: it runs only if there is a counter, and makes no call, so that the compiler
// need not save registers. All other code calls ticks().
inline uint64_t ticks() noexcept { return has_counter() ? counter() : base::monotonic_ns(); }

// For functions that read the counter often: the processor fetches nothing while it reads it, so where the code after
// the read is in a cache line decides about a tenth of the cost of a range.
#define KYMO_AT_CACHE_LINE __attribute__((aligned(64)))

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
