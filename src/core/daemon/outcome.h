// The outcome of a request, as text.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "wire/message.h"

namespace kymo::daemon {

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
