// The outputs of requests: where traces may be written, when a recording ends, and what became of it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "wire/message.h"

namespace kymo::daemon {

// Whether a trace can be written to this pattern (wire/output_pattern.h). Refused: it is relative, contains "..", has
// unknown placeholders, or is not below one of `folders` (if there are any).
base::Check check_output(const std::string& pattern, const std::vector<std::string>& folders);

// The pattern with its {time} filled in, so that all processes write the same one.
std::string with_time(const std::string& pattern, uint64_t realtime_ns);

// When the recording ends, in CLOCK_REALTIME; 0: that depends on the program.
uint64_t end_of(const wire::TraceOptions& options);

// The status of a path that comes from another process; links are not followed. A file system that hangs (a dead
// server) blocks the caller. So this uses a separate thread, and the daemon continues without an answer. Nothing: it
// does not exist, or there was no answer within a second. While a few checks hang, no more are started. Call it from
// one thread.
std::optional<struct stat> look_at(const std::string& path);

// The outcome for a program whose connection broke: it died, or was replaced by another. What it recorded before is
// beside the path of its trace. Nothing is reported about a file of another user.
wire::Done died_outcome(uint64_t request_id, const std::string& path, uint32_t uid);

// "1 process", "2 processes".
inline std::string processes_text(size_t count) { return base::format("{} process{}", count, count == 1 ? "" : "es"); }

// One line for the log: "trigger 7: 3 finished, 1 failed".
template <class Targets>
std::string outcome_text(uint64_t trigger, const Targets& targets) {
  using wire::RequestState;
  std::string text;
  for (const auto state : {RequestState::Finished, RequestState::Failed, RequestState::Cancelled, RequestState::Busy}) {
    size_t count = 0;
    for (const auto& target : targets) count += target.state == state;
    if (count > 0) text += base::format("{}{} {}", text.empty() ? "" : ", ", count, wire::name_of(state));
  }
  return base::format("trigger {}: {}", trigger, text);
}

}  // namespace kymo::daemon
