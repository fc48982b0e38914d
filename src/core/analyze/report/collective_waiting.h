// Whether the ranks of a process group wait for each other in a collective, by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::analyze {

// The numbers are those of the column `point_to_point` in the tables of `kymo push`.
enum class Waiting : uint8_t {
  ForAll = 0,  // every rank waits for every other one, so the call ends on all of them at about the same time
  // Not so for sends and receives, in which not all ranks take part, and for calls with a root: broadcast, reduce,
  // gather and scatter. A rank that only sends may end them before the others have begun.
  NotForAll = 1,
  Unknown = 2,  // the name is not that of a collective: RCCL has one kernel for all of them, and NCCL a generic one
};

// By the name of a kernel of NCCL or RCCL, of an operator of PyTorch, or of a call of NCCL:
// "ncclDevKernel_AllReduce_…",
// "_allgather_base", "ReduceScatter".
Waiting waiting_in(std::string_view name);

// By the name of a kernel, and by the name of the collective that launched it; empty: not known. NCCL runs sends,
// receives and everything that is made of them with the same kernel. Of these only all-to-all is a collective in which
// every rank waits for every other one.
Waiting waiting_in(std::string_view kernel, std::string_view collective);

}  // namespace kymo::analyze
