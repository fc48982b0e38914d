#include "cli/cpu_time.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace kymo::cli {

namespace {

constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

uint64_t ns_of(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

uint64_t cpu_ns_of_children() {
  rusage usage{};
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0) return 0;
  return ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
}

uint64_t cpu_ns_of_process(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(time.tv_nsec);
}

std::string unsampled_text(uint64_t used_ns, const sample::SampleTotals& totals, uint64_t hertz, bool is_by_timers) {
  constexpr uint64_t kShortNs = 200'000'000;
  if (hertz == 0 || totals.lost != 0 || totals.throttled != 0) return {};
  // The time of a program that was killed is known only by its samples.
  const uint64_t known_ns = std::max(totals.on_ns, totals.samples * (kNanosecondsPerSecond / hertz));
  if (used_ns < known_ns || used_ns - known_ns < std::max(kShortNs, used_ns / 5)) return {};
  return base::format(
      "{} of the {} of CPU time was used by programs without samples: {}", base::duration_text(used_ns - known_ns),
      base::duration_text(used_ns),
      is_by_timers ? "they are static or setuid, or were started without LD_PRELOAD (env -i, sudo), which timers "
                     "need"
                   : "they are setuid, or the kernel ended their events");
}

}  // namespace kymo::cli
