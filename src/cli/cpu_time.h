// The CPU time of what was recorded, as the system counts it: to say what has no samples, and why.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "sample/sampler.h"

namespace kymo::cli {

// Of all processes that this one has waited for, and that they have waited for.
uint64_t cpu_ns_of_children();
// Of a process that runs; 0 if there is none.
uint64_t cpu_ns_of_process(pid_t pid);

// One line if programs used the CPU that were not sampled; empty: nearly all of it was. `used_ns` is the time of all
// programs. The samples of a short time, and those around lost samples, are not judged.
std::string unsampled_text(uint64_t used_ns, const sample::SampleTotals& totals, uint64_t hertz, bool is_by_timers);

}  // namespace kymo::cli
