// Keeps a recorded program company until it ends: passes signals on to it and shows how the recording grows.
//
// SIGINT, SIGTERM, SIGHUP and the like that are sent to kymo are the program's; what the terminal sends, it has had
// already. A second SIGINT kills it, since one who presses Ctrl-C twice wants the end. SIGUSR2 makes a flight recorder
// write what it holds.
#pragma once

#include "cli/program.h"
#include "cli/record_options.h"
#include "cli/signals.h"
#include "collect/recording.h"

namespace kymo::cli {

// Blocked in kymo while a program runs under it, so that nothing ends kymo before the file is complete.
inline constexpr std::initializer_list<int> kWatchedSignals = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                                               SIGUSR1, SIGUSR2, SIGCHLD};

// Returns when the program has ended. `inbox` holds kWatchedSignals.
Ending watch(collect::Recording& recording, Program& program, SignalInbox& inbox, const RecordOptions& options);

}  // namespace kymo::cli
