// Each call of a collective on a device, with its process group and its place among the calls of an iteration.
//
// All ranks of a group make the same calls in the same order. So the same call of two ranks has the same iteration,
// group, name, sequence number and place. A rank whose number of calls is another one has lost some, or does something
// else, and its places mean nothing to the others. PyTorch numbers the calls of a group, so that with these numbers a
// lost call does not matter for the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/report/collective_waiting.h"
#include "analyze/report/device_work.h"
#include "analyze/report/iteration_operations.h"
#include "analyze/report/iterations.h"
#include "analyze/report/process_group.h"

namespace kymo::analyze {

struct CollectiveCall {
  uint32_t iteration = 0;  // its index in Iterations::list: that of its launch, as in iteration_operations()
  uint32_t group = 0;      // index in CollectiveCalls::groups
  uint32_t name = 0;       // index in CollectiveCalls::names
  int64_t sequence = -1;   // the number that the trace gives it in its group; -1: none
  uint32_t call = 0;       // its place among those of the same iteration, group, name and sequence number
  uint32_t calls = 0;      // the number of these
  Waiting waiting = Waiting::Unknown;
  int64_t begin = 0, end = 0;
};

struct CollectiveCalls {
  std::vector<ProcessGroup> groups;
  std::vector<std::string> names;
  std::vector<CollectiveCall> rows;  // by begin
  uint64_t left_out = 0;             // calls beyond kMostRows

  static constexpr size_t kMostRows = 1 << 20;
};

// The group is what the trace says of the work on the device: name and ranks of PyTorch's process group. If it says
// nothing, it is that of the innermost range of the host that launched the work and names a group (as PyTorch's
// record_param_comms does, or any range with an argument `communicator`), or the communicator of the call that NCCL
// reports after the launch (inject/nccl). The same range or call says which collective it is, if neither the kernel nor
// an argument `Collective name` says it. `numbers` are those of iteration_numbers():
// iterations of a run with the same number are one. Reads the device tracks once, and the launching threads if they are
// asked for groups; if there is no communication, nothing.
CollectiveCalls collective_calls(EventWalk& walk, const DeviceWork& work, const Iterations& iterations,
                                 const IterationNumbers& numbers);

}  // namespace kymo::analyze
