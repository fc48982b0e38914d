#include "record/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include "base/clock.h"
#endif

namespace kymo::record {

#if defined(__x86_64__)
bool tsc_is_invariant = false;

void init_clock() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  tsc_is_invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
#else
void init_clock() noexcept {}
#endif

TickSource tick_source() noexcept {
#if defined(__x86_64__)
  if (tsc_is_invariant) return {TickKind::Tsc, 0};
  return {TickKind::Monotonic, 1'000'000'000};
#elif defined(__aarch64__)
  uint64_t frequency;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  return {TickKind::ArmCounter, frequency};
#else
  return {TickKind::Monotonic, 1'000'000'000};
#endif
}

Pair read_pair() noexcept {
  Pair best{0, 0, 0, ~uint64_t{0}};
  uint64_t best_width = ~uint64_t{0};
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint64_t host_before = base::monotonic_ns();
    const uint64_t before = ticks();
    const uint64_t realtime = base::realtime_ns();
    const uint64_t after = ticks();
    const uint64_t host_after = base::monotonic_ns();
    const uint64_t width = host_after - host_before;
    if (width >= best_width) continue;
    best_width = width;
    best = {before + (after - before) / 2, host_before + width / 2, realtime, width / 2 + 1};
  }
  return best;
}

}  // namespace kymo::record
