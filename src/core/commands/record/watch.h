// Watches a recorded program until it ends: forwards signals to it and shows how the recording grows.
//
// Forwards SIGINT, SIGTERM, SIGHUP and similar signals that are sent to kymo. Signals of the terminal are not
// forwarded: the program already got them. A second SIGINT kills the program. SIGUSR2 makes a flight recorder write its
// events.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "cli/signals.h"
#include "collect/recording.h"
#include "commands/record/program.h"
#include "commands/record/record_options.h"
#include "sample/sampler.h"

namespace kymo::cli {

// Blocked in kymo while a program runs under it, so that nothing ends kymo before the file is complete.
inline constexpr std::initializer_list<int> kWatchedSignals = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                                               SIGUSR1, SIGUSR2, SIGCHLD};

// Writes the data of a flight recorder to the output. A failure is only a warning.
void dump_flight(collect::Recording& recording, const RecordOptions& options);

// Returns when the program has ended. `inbox` holds kWatchedSignals.
Ending watch(collect::Recording& recording, Program& program, SignalInbox& inbox, const RecordOptions& options);

// The CPU time of what was recorded, as the system counts it: to say what has no samples, and why.

// Of all processes that this one has waited for, and that they have waited for.
uint64_t cpu_ns_of_children();
// Of a process that runs; 0 if there is none.
uint64_t cpu_ns_of_process(pid_t pid);

// One line if programs used the CPU that were not sampled; empty: nearly all of it was. `used_ns` is the time of all
// programs. The samples of a short time, and those around lost samples, are not judged.
std::string unsampled_text(uint64_t used_ns, const sample::SampleTotals& totals, uint64_t hertz, bool is_by_timers);
// The versions of Python whose functions could not be read. Empty: none.
std::string unknown_python_text(const sample::SampleTotals& totals);

}  // namespace kymo::cli
