// Watches a recorded program until it ends: forwards signals to it and shows how the recording grows.
//
// Forwards SIGINT, SIGTERM, SIGHUP and similar signals that are sent to kymo. Signals of the terminal are not
// forwarded: the program already got them. A second SIGINT kills the program. SIGUSR2 makes a flight recorder write its
// events.
#pragma once

#include "cli/program.h"
#include "cli/record_options.h"
#include "cli/signals.h"
#include "collect/recording.h"

namespace kymo::cli {

// Blocked in kymo while a program runs under it, so that nothing ends kymo before the file is complete.
inline constexpr std::initializer_list<int> kWatchedSignals = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                                               SIGUSR1, SIGUSR2, SIGCHLD};

// Writes the data of a flight recorder to the output. A failure is only a warning.
void dump_flight(collect::Recording& recording, const RecordOptions& options);

// Returns when the program has ended. `inbox` holds kWatchedSignals.
Ending watch(collect::Recording& recording, Program& program, SignalInbox& inbox, const RecordOptions& options);

}  // namespace kymo::cli
