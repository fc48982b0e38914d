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
#include <utility>
#include <vector>

#include "base/file.h"
#include "sample/perf_record.h"
#include "sample/perf_ring.h"

struct perf_event_attr;

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

// The longest copy of a stack. A shorter stack is copied only as far as it goes, so a long copy costs only the programs
// that need it; but the ring has fewer places for samples.
inline constexpr uint32_t kLongCopy = 32 << 10, kShortCopy = 8 << 10;
inline constexpr uint64_t kHighestRateOfLongCopies = 1000;
// With frame pointers: enough for the return address of a function that has no frame of its own.
inline constexpr uint32_t kLeafCopy = 256;
inline constexpr unsigned kMaxChain = 127;  // frames that the kernel walks

// A fault of memory that the program touches first is cheaper than its sample.
inline constexpr uint64_t kFaultsOfASample = 8;

struct EventOptions {
  uint64_t hertz = 1000;
  Stacks stacks = kDefaultStacks;
  bool waits = false;   // also the stack of a thread whenever it stops running, if the kernel's functions are permitted
  bool faults = false;  // also the stack of each kFaultsOfASample-th page fault
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
  bool has_waits() const { return has_waits_; }
  bool has_faults() const { return has_faults_; }
  uint32_t copy_bytes() const { return copy_bytes_; }  // the longest copy of a stack; 0: none
  std::vector<PerfRing>& rings() { return rings_; }
  // Waits until a ring is a quarter full, for wake(), or for this time.
  void wait(int milliseconds);
  // From any thread: ends wait(), now and from now on.
  void wake();
  // In all processes together, until now.
  uint64_t page_faults() const;

 private:
  struct Request;
  PerfEvents() = default;
  static PerfEvents open(const std::vector<pid_t>& threads, Request request);
  bool open_all(const std::vector<pid_t>& threads, Request& request);
  int open_sampling(Request& request, pid_t thread, int processor);
  void open_others(const Request& request, pid_t thread, int processor, int leader);
  bool add(const perf_event_attr& attributes, pid_t thread, int processor, int leader, Cause cause,
           std::vector<base::FileDescriptor>& into);
  bool map_ring(int event, const Request& request);

  RecordLayout layout_;
  base::FileDescriptor wake_;
  bool has_kernel_ = false, has_waits_ = false, has_faults_ = false;
  uint32_t copy_bytes_ = 0;
  std::vector<base::FileDescriptor> events_, faults_;
  std::vector<PerfRing> rings_;
  std::vector<int> leaders_;  // the events whose rings are read
};

// The records of performance events, from all rings in the order of their times.
class PerfSource : public RecordSource {
 public:
  explicit PerfSource(PerfEvents events) : events_(std::move(events)) {}

  void wait(int milliseconds) override { events_.wait(milliseconds); }
  void wake() override { events_.wake(); }
  void read(bool is_last, const Handle& handle) override;
  std::optional<uint64_t> page_faults() const override { return events_.page_faults(); }
  bool is_complete() const override { return true; }

 private:
  PerfEvents events_;
};

}  // namespace kymo::sample
