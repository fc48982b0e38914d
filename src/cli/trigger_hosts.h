// `kymo trigger --hosts`: the same trace, at the same time, on many hosts.
#pragma once

#include "cli/commands.h"
#include "cli/trigger_options.h"

namespace kymo::cli {

// Connects to all hosts, measures their clocks, and requests traces that begin at a common time, two seconds after the
// last host has answered or timed out. Prints a line for each program as its result arrives.
int trigger_on_hosts(const TriggerOptions& options, const Arguments& arguments);

}  // namespace kymo::cli
