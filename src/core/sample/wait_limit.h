// Which waits have a stack, if not all of them: a small program (BPF) that the kernel runs when a thread stops running.
// A thread that could go on has none, because others run: it does not wait, and such stops would use up those of waits.
//
// The stack of a wait costs microseconds, and a program may wait 100,000 times a second. The kernel's own limit of a
// rate is of no use here: it measures time on the CPU, and leaves out most waits of threads that wait nearly always.
#pragma once

#include <cstdint>

#include "base/file.h"

namespace kymo::sample {

// A wait has a stack if its thread and its processor have had fewer in the last time. So threads that wait often do not
// use up what those have that wait rarely, and many threads do not cost more than a few.
struct WaitLimit {
  uint32_t of_thread = 100, of_processor = 500;  // stacks a second, on average; as many may come at once
  uint32_t looks_of_processor = 20'000;          // waits a second for which this is looked up; the others have no stack
  uint32_t threads = 4096;                       // that are told apart; with more, the oldest ones begin anew
};

struct WaitLimiter {
  base::FileDescriptor program;   // for PERF_EVENT_IOC_SET_BPF
  base::FileDescriptor switches;  // as long as it is open, the program knows which threads could go on
};

// The program is closed if the kernel refuses: it needs root, or CAP_BPF and CAP_PERFMON, and Linux 5.8. `switches` is
// closed before Linux 5.18: then threads that could go on have stacks too.
WaitLimiter load_wait_limit(const WaitLimit& limit = {});

}  // namespace kymo::sample
