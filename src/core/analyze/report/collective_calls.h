// Each call of a collective on a device, with its process group and its place among the calls of an iteration.
//
// All ranks of a group make the same calls in the same order. So the same call of two ranks has the same iteration,
// group, name, sequence number and place. A rank whose number of calls is another one has lost some, or does something
// else, and its places mean nothing to the others. PyTorch numbers the calls of a group, so that with these numbers a
// lost call does not matter for the others.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/iteration_operations.h"
#include "analyze/report/iterations.h"

namespace kymo::analyze {

// The ranks of a process group, as traces name them: "[0, 1, 2]", "[1,0]", "0-7", "[0, 1, ..., 63]".
struct RankList {
  std::vector<uint32_t> ranks;  // in rising order, each once
  bool is_complete = true;      // false: the trace names only some of them. PyTorch ends a long list with "..."

  static constexpr size_t kMostRanks = 1 << 20;

  // "[0, 1]", or "[0, 1, ...]": the same text for the same ranks.
  std::string text() const;
};

// Nothing if it is not a list of at least one rank. The text is untrusted.
std::optional<RankList> parse_rank_list(std::string_view text);

// A process group of a trace.
struct ProcessGroup {
  // Name and ranks: groups that are made by some ranks only may have the same name. Empty: the trace names none.
  std::string name;
  uint32_t members = 0;  // the number of its ranks; 0: unknown

  auto operator<=>(const ProcessGroup&) const = default;
};

// From what a trace says; each may be empty. The larger number counts if `ranks` and `size` disagree.
ProcessGroup make_process_group(std::string_view name, std::string_view ranks, std::string_view size);

// The ranks in ProcessGroup::name; nothing if it does not name all of them.
std::optional<RankList> ranks_in(std::string_view group_name);

// Whether the ranks of a process group wait for each other in a collective, by its name.
enum class Waiting : uint8_t {
  ForAll,  // every rank waits for every other one, so the call ends on all of them at about the same time
  // Not so for sends and receives, in which not all ranks take part, and for calls with a root: broadcast, reduce,
  // gather and scatter. A rank that only sends may end them before the others have begun.
  NotForAll,
  Unknown,  // the name is not that of a collective: RCCL has one kernel for all of them, and NCCL a generic one
};

// By the name of a kernel of NCCL or RCCL, of an operator of PyTorch, or of a call of NCCL:
// "ncclDevKernel_AllReduce_…", "_allgather_base", "ReduceScatter".
Waiting waiting_in(std::string_view name);

// By the name of a kernel, and by the name of the collective that launched it; empty: not known. NCCL runs sends,
// receives and everything that is made of them with the same kernel. Of these only all-to-all is a collective in which
// every rank waits for every other one.
Waiting waiting_in(std::string_view kernel, std::string_view collective);

struct CollectiveCall {
  uint32_t iteration = 0;  // its index in Iterations::list: that of its launch, as in iteration_operations()
  uint32_t group = 0;      // index in CollectiveCalls::groups
  uint32_t name = 0;       // index in CollectiveCalls::names
  int64_t sequence = -1;   // the number that the trace gives it in its group; -1: none
  uint32_t call = 0;       // its place among those of the same iteration, group, name and sequence number
  uint32_t calls = 0;      // the number of these
  Waiting waiting = Waiting::Unknown;
  uint32_t track = 0;  // of the device
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

// The same call of several devices, in the order of their ends.
struct SharedCall {
  struct Member {
    uint32_t device = 0;  // index in DeviceWork::devices
    CollectiveCall call;
  };
  std::vector<Member> members;
};

// Those of the whole trace, whose ranks must be on one clock. A collective ends at about the same time on all ranks, so
// calls of one group, name and number that overlap belong together. Calls in which not all ranks wait are left out.
// Reads nothing if fewer than two devices communicate.
std::vector<SharedCall> shared_calls(EventWalk& walk, const DeviceWork& work);

}  // namespace kymo::analyze
