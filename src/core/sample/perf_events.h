// The performance events that sample programs, and their rings: one for each processor.
//
// For a program that is started: opened on the calling thread, where they stay off. They are inherited by the next
// process that this thread starts, and begin when it executes a program. For a running process: opened on each of its
// threads, and on immediately. In both cases new threads and child processes inherit them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
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

// Which waits have the stack that the thread had when it stopped running. The kernel's functions must be permitted.
enum class Waits : uint8_t {
  None,
  Some,  // at a limited rate (wait_limit.h), and without the kernel's functions if stacks are copied
  All,
};

struct EventOptions {
  uint64_t hertz = 1000;
  Stacks stacks = kDefaultStacks;
  Waits waits = Waits::None;
  bool wake_ups = false;  // also when threads are woken, and by whom: of the whole machine
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
  // What is not recorded, of all that root gets by default; empty: nothing. And why, with what to change.
  struct Unseen {
    std::string what, why;
  };
  Unseen unseen() const;
  // Why wake-ups of threads by others are not recorded; empty: they are.
  const std::string& why_no_wake_ups() const { return why_no_wake_ups_; }
  uint32_t copy_bytes() const { return copy_bytes_; }  // the longest copy of a stack; 0: none
  std::vector<PerfRing>& rings() { return rings_; }
  // Waits until a ring is a quarter full, for wake(), or for this time. False: the time is over.
  bool wait(int milliseconds);
  // From any thread: ends wait(), now and from now on.
  void wake();
  // In all processes together, until now.
  RecordSource::Counts counts() const;

  uint64_t period_ns() const { return period_ns_; }  // of CPU time, between two samples of a thread
  // Threads and processes that start from now on get samples after each of these times instead, by the processor on
  // which they run. For a running process it has no effect: its own threads would change too.
  void set_periods_of_new_threads(const std::function<uint64_t()>& next_ns);
  // From now on.
  void record_wake_ups(bool is_on);

 private:
  struct Request;
  PerfEvents() = default;
  static PerfEvents open(const std::vector<pid_t>& threads, Request request);
  bool open_all(const std::vector<pid_t>& threads, Request& request);
  int open_sampling(Request& request, pid_t thread, int processor);
  void open_others(const Request& request, pid_t thread, int processor, int leader);
  bool add(const perf_event_attr& attributes, pid_t thread, int processor, int leader, Cause cause,
           std::vector<base::FileDescriptor>& into, int limit = -1);
  void open_wake_ups(const Request& request, int processor, int leader);
  bool map_ring(int event, const Request& request);

  RecordLayout layout_;
  base::FileDescriptor wake_;
  bool has_kernel_ = false, has_waits_ = false;
  uint32_t copy_bytes_ = 0;
  uint64_t period_ns_ = 0;
  std::string why_no_wake_ups_;
  std::vector<base::FileDescriptor> events_, faults_, wake_ups_;
  std::vector<int> templates_;  // the events of the clock that only new threads get
  std::vector<PerfRing> rings_;
  std::vector<int> leaders_;  // the events whose rings are read
  std::vector<int> clocks_;   // the events of the clock, which count the time on processors
};

// Decides when new threads get their first sample, and which samples of theirs count.
//
// The kernel takes the first sample of a thread after a whole period, so threads that are shorter have none. If a
// program starts many threads or processes, new ones get a random period that is shorter. Their first sample counts,
// and then as many as a whole period would give: so a thread has as many samples as its CPU time deserves, on average,
// if it is as long as kShortest of a period. This costs more interrupts, so it is done only while many threads start.
// Then the others are a few periods a second at most.
class FirstSamples {
 public:
  static constexpr double kShortest = 1.0 / 8;
  static constexpr double kManyStarts = 20;  // a second

  explicit FirstSamples(uint64_t period_ns);

  // A thread or process has started; a thread has ended.
  void started() { ++starts_; }
  void ended(uint32_t tid) { balances_.erase(tid); }
  // Of this thread, after this much CPU time since its last one. True: it counts.
  bool is_due(uint32_t tid, uint64_t period_ns);
  // Whether new threads should get other periods, and the next one of them.
  bool should_vary(uint64_t now_ns);
  uint64_t next_period_ns();

 private:
  const uint64_t period_ns_;
  double phase_;       // of a sequence of numbers from 0 to 1 that is more even than random ones
  double starts_ = 0;  // in about the last second
  uint64_t looked_ns_ = base::monotonic_ns();
  std::unordered_map<uint32_t, int64_t> balances_;  // by thread: CPU time that no sample stands for; negative: too many
};

// The records of performance events, from all rings in the order of their times.
class PerfSource : public RecordSource {
 public:
  explicit PerfSource(PerfEvents events)
      : events_(std::move(events)),
        first_samples_(events_.period_ns()),
        wake_up_limit_(events_.rings().size(), base::monotonic_ns()) {}

  void wait(int milliseconds) override;
  void wake() override { events_.wake(); }
  void read(bool is_last, const Handle& handle) override;
  std::optional<Counts> counts() const override;
  bool is_complete() const override { return true; }

 private:
  // What has happened in a ring until now.
  struct RingState {
    uint64_t last_ns = 0;  // the time of its last record
    uint64_t lost_ns = 0;  // for how long it was full, if no lost sample stands for it
  };
  void count_lost_samples(RingState& ring, Record& record) const;
  void report_last_losses(const Handle& handle);
  void draw_periods();

  PerfEvents events_;
  FirstSamples first_samples_;
  WakeUpLimit wake_up_limit_;
  bool is_varied_ = false, records_wake_ups_ = true;
  std::vector<RingState> states_;
  uint64_t lost_ = 0;  // records, as far as they were reported
};

}  // namespace kymo::sample
