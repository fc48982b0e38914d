// The performance events that sample programs, and their rings: one for each processor.
//
// For a program that is started: opened on the calling thread, where they stay off. They are inherited by the next
// process that this thread starts, and begin when it executes a program. For a running process: opened on each of its
// threads, and on immediately. In both cases new threads and child processes inherit them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "sample/perf_record.h"
#include "sample/perf_ring.h"

namespace kymo::sample {

// How the stack of the program gets into a sample.
enum class Stacks : uint8_t {
  Copies,         // registers and a part of the stack, unwound by its reader: works for all programs
  FramePointers,  // walked by the kernel: cheaper, for programs that were compiled with frame pointers
};

// What is complete for the programs of a distribution. On x86-64 they have no frame pointers; on arm64 they have.
#if defined(__x86_64__)
inline constexpr Stacks kDefaultStacks = Stacks::Copies;
#else
inline constexpr Stacks kDefaultStacks = Stacks::FramePointers;
#endif

inline constexpr uint32_t kStackBytes = 8192;  // of a copy
inline constexpr unsigned kMostChain = 127;    // frames that the kernel walks

struct EventOptions {
  uint64_t hertz = 1000;
  Stacks stacks = kDefaultStacks;
};

class PerfEvents {
 public:
  // Throws kymo::NotAvailable: what the kernel refused, and what to change.
  static PerfEvents for_next_program(const EventOptions& options);
  // Of a process that runs. Throws also if there is no such process.
  static PerfEvents for_process(pid_t pid, const EventOptions& options);

  PerfEvents(PerfEvents&&) = default;

  const RecordLayout& layout() const { return layout_; }
  bool has_kernel() const { return has_kernel_; }  // samples contain the kernel's functions
  std::vector<PerfRing>& rings() { return rings_; }
  // Waits until a ring is a quarter full, or for this time.
  void wait(int milliseconds);
  // In all processes together, until now.
  uint64_t page_faults() const;

 private:
  struct Request;
  PerfEvents() = default;
  void open(const std::vector<pid_t>& threads, const Request& request);
  int open_sampling(Request& request, pid_t thread, int processor);
  void map_ring(int event, const Request& request);

  RecordLayout layout_;
  bool has_kernel_ = false;
  std::vector<base::FileDescriptor> events_, faults_;
  std::vector<PerfRing> rings_;
  std::vector<int> leaders_;  // the events whose rings are read
};

}  // namespace kymo::sample
