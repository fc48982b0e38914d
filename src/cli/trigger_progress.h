// The progress of a trigger, for each process: a bar while it runs, a table when it has ended.
//
// No I/O here: takes the messages of the daemon and returns text. The messages are untrusted: an update for an unknown
// process is dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "wire/message.h"

namespace kymo::cli {

// The state of one process.
struct TargetOutcome {
  int32_t pid = 0;
  wire::RequestState state = wire::RequestState::Queued;
  uint32_t progress = 0;                       // of this state, in thousandths
  std::string path;                            // where its trace is, or will be
  std::string text;                            // why not, or what it says
  uint64_t bytes = 0, events = 0, losses = 0;  // the last two may be wire::kUnknownCount
  int64_t late_ns = 0;
};

class TriggerProgress {
 public:
  // The window of `options` is what progress is measured by.
  TriggerProgress(const wire::TraceOptions& options, const std::vector<wire::TriggerReply>& replies);

  uint64_t trigger_id() const { return trigger_id_; }
  const std::vector<TargetOutcome>& targets() const { return targets_; }

  void take(const wire::TriggerUpdate& update, uint64_t now_ns);

  bool is_over() const;   // it has ended in every process, with success or not
  bool all_good() const;  // … and has written its trace

  // "████░░░░ 50 %  recording, 1 of 3 done", at `now_ns` of CLOCK_REALTIME; on narrow terminals, only the text.
  std::string bar(uint64_t now_ns, std::optional<size_t> columns = std::nullopt) const;

  // A line for each process.
  std::string table() const;
  void write(base::JsonWriter& json) const;  // the members of the object that is open

 private:
  double fraction_of(const TargetOutcome& target, uint64_t now_ns) const;
  std::string phase(uint64_t now_ns) const;

  uint64_t trigger_id_ = 0;
  uint64_t starts_ns_, duration_ns_;  // 0: not known
  bool over_reported_ = false;
  std::vector<TargetOutcome> targets_;
};

}  // namespace kymo::cli
