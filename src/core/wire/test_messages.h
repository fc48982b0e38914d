// One message of each kind, every field filled, in the order of wire::Message.
#pragma once

#include <vector>

#include "wire/message.h"

namespace kymo::wire::testing {

inline std::vector<Message> full_messages() {
  const TraceOptions options{.start_at_ns = 1'800'000'000'000'000'000,
                             .boot_id = "b007",
                             .duration_ns = 2'000'000'000,
                             .output = "/tmp/{name}-{pid}.json",
                             .format = TraceFormat::KinetoJson,
                             .flags = kWithShapes | kWithMemory | kWithStack | kWithFlops | kWithModules};
  const Selection selection{{1, 2}, {"train", "eval"}, "", {7}};
  const ProcessEntry process{77, 1000, Protocol::Kineto,       {70, 1}, "train", "train --fast", "job7", 1,
                             2,  3,    RequestState::Recording};
  return {
      Hello{2, 2, Role::Agent, 77, "train", "train --fast", "job7", "0.1.0"},
      Welcome{2, "0.1.0", {"/tmp", "/data"}, "@dynolog", "the name is taken", 7},
      Refused{RefusedCode::NotAllowed, 16, "ask its owner"},
      Start{9, options, RequestKind::Memory, 77, 8},
      Cancel{9, true},
      Status{9, RequestState::Waiting, 500, "half"},
      Done{{RequestState::Failed, "/tmp/a.kymo", 1, 2, 3, -4, 5, "the disk is full"}, 9, RequestKind::Memory},
      List{selection},
      ListReply{{process, ProcessEntry{.pid = 1}}, true},
      Trigger{selection, 3, false, options, RequestKind::Memory},
      TriggerReply{5, {{77, 9, RequestState::Queued, "/tmp/train-77.json", "soon", true}, {.pid = 78}}, "why", true},
      TriggerUpdate{{RequestState::Busy, "/tmp/a", 1, 2, 3, -4, 5, "text"}, 5, 77, 1000, 6},
      CancelTrigger{5, true},
      History{5},
      HistoryReply{
          {{{RequestState::Finished, "/tmp/a", 3, 4, 5, -6, 7, "text"}, 5, 77, 1000, "train", 1, 2}, {{}, 6, 78}},
          true},
  };
}

}  // namespace kymo::wire::testing
