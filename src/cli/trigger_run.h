// A trigger that is sent to all daemons: its replies, and the wait for its outcome.
#pragma once

#include <string>
#include <vector>

#include "cli/daemon_link.h"
#include "cli/signals.h"
#include "cli/trigger_options.h"
#include "cli/trigger_progress.h"

namespace kymo::cli {

class TriggerRun {
 public:
  // Sends the trigger to every daemon. `options` outlives it. A process that two daemons know gets it only once. If one
  // daemon refuses the trigger and another one accepts it, prints a warning. Throws Error if nobody accepts it.
  TriggerRun(const TriggerOptions& options, std::vector<DaemonLink> links);

  const TriggerProgress& progress() const { return progress_; }
  const std::string& why_nothing_matched() const { return why_nothing_; }

  // Until every process has accepted or refused the request, for a short time.
  void wait_for_answers();

  struct Waited {
    int signal = 0;    // the signal that ended it
    std::string lost;  // why a daemon stopped sending updates; empty: all sent everything
  };
  // Until all is done. The first signal stops the recordings, and what was recorded is kept. The second one discards
  // it. The third one ends the wait.
  Waited wait_for_all(SignalInbox& inbox);

 private:
  struct Daemon {
    DaemonLink link;
    uint32_t serial = 0;
    bool is_lost = false;
  };
  // A daemon is there that will send more updates.
  bool is_any_running() const;
  // Takes the next update of each daemon, if one comes soon.
  void take_updates(Waited& waited);
  template <class M>
  void send_all();

  const TriggerOptions& options_;
  std::vector<Daemon> daemons_;
  TriggerProgress progress_;
  std::string why_nothing_;
};

}  // namespace kymo::cli
