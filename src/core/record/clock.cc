#include "record/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
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

base::ClockPair read_pair() noexcept {
  return base::read_clock_pair([]() noexcept { return ticks(); });
}

}  // namespace kymo::record
