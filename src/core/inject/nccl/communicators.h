// The communicators of the process. While nothing records, NCCL is told to report nothing.
#pragma once

#include <cstdint>

namespace kymo::inject::nccl {

struct Communicator {
  char name[64];
  char id[20];  // the same for all ranks, in hex
  int rank, ranks;
};

// The communicator lives until forget(). `mask` is where NCCL reads which events to report: it is one variable for the
// whole process. Null if there is no memory.
Communicator* add(uint64_t id, const char* name, int rank, int ranks, int* mask) noexcept;
void forget(Communicator* communicator) noexcept;

// Tells NCCL what to report from now on.
void report_events(bool on) noexcept;

}  // namespace kymo::inject::nccl
