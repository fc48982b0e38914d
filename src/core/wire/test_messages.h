// One message of each kind, every field filled, in the order of wire::Message.
#pragma once

#include <vector>

#include "wire/message.h"

namespace kymo::wire::testing {

inline std::vector<Message> full_messages() {
  const TraceOptions options{.start_at_ns = 1'800'000'000'000'000'000,
                             .boot_id = "b007",
                             .duration_ns = 2'000'000'000,
                             .warmup_ns = 5,
                             .max_bytes = 1 << 30,
                             .output = "/tmp/{name}-{pid}.json",
                             .format = TraceFormat::KinetoJson,
                             .flags = kWithShapes | kWithMemory | kWithStack | kWithFlops | kWithModules,
                             .extra = {"A=1", "B="}};
  const Selection selection{{1, 2}, {"train", "eval"}, "", {7}};
  const ProcessEntry process{77,        1000, Protocol::Kineto,        {70, 1}, "train",   "train --fast", "job7", 1, 2,
                             kCanTrace, 3,    RequestState::Recording, 850,     4026531836};
  return {
      Hello{2, 2, Role::Agent, 77, 1000, {70, 1}, "train", "train --fast", "job7", "b007", 1, 2, 3, 4, 5, "0.1.0"},
      Welcome{2, 5, "0.1.0", "b007", 65536, 4, 60'000'000'000, 1'000'000'000, {"/tmp", "/data"}, "@dynolog", 7},
      Refused{RefusedCode::NotAllowed, 16, "ask its owner"},
      Ping{7},
      Pong{7, 8},
      Start{9, options, RequestKind::Memory, 77, 8},
      Cancel{9},
      Stop{9},
      Status{9, RequestState::WarmingUp, 500, "half"},
      Done{9, RequestState::Failed, "/tmp/a.kymo", 1, 2, 3, -4, 5, "the disk is full", RequestKind::Memory},
      Step{850, 1},
      List{selection},
      ListReply{{process, ProcessEntry{.pid = 1}}, true},
      Trigger{selection, 3, false, options, RequestKind::Memory},
      TriggerReply{5, {{77, 9, RequestState::Queued, "/tmp/train-77.json", "soon", true}, {.pid = 78}}, "why", true},
      TriggerUpdate{5, 77, RequestState::Busy, 1000, "text", "/tmp/a", 1, 2, 3, -4, "error", 6},
      CancelTrigger{5},
      StopTrigger{5},
      History{5},
      HistoryReply{{{5, 77, 1000, "train", 1, 2, RequestState::Finished, "/tmp/a", 3, 4, 5, -6, "text"}, {.pid = 78}},
                   true},
      Doctor{77},
      DoctorReply{{{"socket", Verdict::Bad, "nobody listens", "start kymod"}, {.name = "job"}}, true},
  };
}

}  // namespace kymo::wire::testing
