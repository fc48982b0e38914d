// A trigger from its request to its outcome: it is sent to all daemons, and shown for each process.
//
// TriggerProgress shows a bar while it runs and a table when it has ended, without I/O: it takes the messages of the
// daemons and returns text. The messages are untrusted: an update for an unknown process is dropped. If the processes
// are connected to several daemons, each daemon has its own trigger. TriggerRun sends and waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "cli/signals.h"
#include "commands/ondemand/daemon_link.h"
#include "commands/ondemand/trigger_options.h"
#include "wire/message.h"

namespace kymo::cli {

// The state of one process.
struct TargetOutcome : wire::Outcome {
  int32_t pid = 0;
  size_t daemon = 0;  // the number of its daemon: 0 for the first that was added
  uint64_t trigger = 0;
  bool polls = false;     // wire::TriggerTarget
  uint32_t progress = 0;  // of this state, in thousandths
};

// Where its trace is, or why there is none. After a failure, a part of the trace may exist; the text says where.
std::string file_or_reason(const wire::Outcome& outcome);
// Its members, into the object that is open.
void write_outcome(base::JsonWriter& json, int32_t pid, const wire::Outcome& outcome);

class TriggerProgress {
 public:
  // The window of `options` is what progress is measured by.
  explicit TriggerProgress(const wire::TraceOptions& options);

  // The targets of one more daemon.
  void add(const std::vector<wire::TriggerReply>& replies);

  // By the number of the daemon; 0 if nothing matched there.
  const std::vector<uint64_t>& trigger_ids() const { return trigger_ids_; }
  const std::vector<TargetOutcome>& targets() const { return targets_; }

  void take(const wire::TriggerUpdate& update, uint64_t now_ns, size_t daemon = 0);

  bool is_over() const;   // it has ended in every process, with success or not
  bool all_good() const;  // … and has written its trace
  bool is_over_at(size_t daemon) const;
  bool is_answered() const;           // every process has accepted or refused the request, or gets it at its next poll
  bool is_over_except_polls() const;  // only processes are left that cannot be stopped, because they only poll

  // Why it takes so long, if that is probably not what the user wants; empty: nothing to say.
  std::string hint() const;

  // "████░░░░ 50 %  recording, 1 of 3 done", at `now_ns` of CLOCK_REALTIME; on narrow terminals, only the text.
  std::string bar(uint64_t now_ns, std::optional<size_t> columns = std::nullopt) const;

  // A line for each process.
  std::string table() const;
  void write(base::JsonWriter& json) const;  // the members of the object that is open

 private:
  double fraction_of(const TargetOutcome& target, uint64_t now_ns) const;
  std::string phase(uint64_t now_ns) const;

  std::vector<uint64_t> trigger_ids_;
  std::vector<bool> over_reported_;   // by daemon
  uint64_t starts_ns_, duration_ns_;  // 0: not known
  bool by_iterations_;
  std::vector<TargetOutcome> targets_;
};

// A trigger that is sent to all daemons: its replies, and the wait for its outcome.

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
  void end_all(bool keep);

  const TriggerOptions& options_;
  std::vector<Daemon> daemons_;
  TriggerProgress progress_;
  std::string why_nothing_;
};

}  // namespace kymo::cli
