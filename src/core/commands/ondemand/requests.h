// `kymo trigger --status` and `--cancel`: what became of recent triggers, for commands that did not wait, and their
// end.
#pragma once

#include "commands/ondemand/trigger_options.h"

namespace kymo::cli {

// Both return the exit code: kNothingMatched if the daemons do not know the trigger.
int show_requests(const TriggerOptions& options);
int cancel_requests(const TriggerOptions& options);

}  // namespace kymo::cli
