// The recorded data of one profiler: a log for each thread. The logs are combined only after the profiler has stopped.
//
// A thread appends only to its own log and takes no lock: blocks of records that never move, and an arena of bytes for
// data without a fixed length. Names are numbers in the thread's own table. All times are in ticks (kymo_ticks()). They
// are converted with the two pairs of clocks that the log reads at its begin and end. The recording calls of
// kymo/edge_engine.h use this (engine.cc); build.h reads it afterwards.
//
//   begins          Log* log = Log::make(options, profiler);     one reference, the profiler's
//   records         threads, through ThreadRecorder
//   ends            log->stop();                                 from now on nothing is written
//   is read         build_result(log->contents(), …);
//   is destroyed    log->release();                              or later: when the last open operation ends
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "counters/thread_group.h"
#include "edge/blocks.h"
#include "kymo/edge_engine.h"
#include "kymo/edge_module.h"
#include "kymo/queue.h"
#include "record/clock.h"
#include "record/registry.h"
#include "symbols/capture.h"

namespace kymo {
class EdgeProfiler;
}

namespace kymo::edge {

class ThreadRecorder;

inline constexpr uint32_t kNothing = UINT32_MAX;

// The names that one thread used, with a number for each.
//
// An engine passes the same texts again and again, mostly from the same address. A small table of addresses finds the
// number with one comparison of the text; the comparison is needed because the text at the address may have changed.
// Other texts are looked up by their hash.
class Names {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The number of `name`, which is copied if it is new. kNone: there is no memory.
  [[gnu::always_inline]] uint32_t number_of(std::string_view name) noexcept {
    Recent& recent = recent_[place_of(name)];
    if (recent.from == name.data() && recent.size == name.size() && recent.text != nullptr &&
        record::same_text(recent.text, name.data(), static_cast<uint32_t>(name.size())))
      return recent.number;
    return look_up(name, recent);
  }

  const std::string& operator[](uint32_t number) const noexcept { return texts_[number]; }
  uint32_t size() const noexcept { return texts_.size(); }

 private:
  struct Recent {
    const char* from = nullptr;  // the engine's address of it
    const char* text = nullptr;  // the copy
    size_t size = 0;
    uint32_t number = kNone;
  };
  static constexpr size_t kRecent = 64;

  static size_t place_of(std::string_view name) noexcept {
    const uint64_t mixed = reinterpret_cast<uintptr_t>(name.data()) + (name.size() << 48);
    return (mixed * 0x9e3779b97f4a7c15u) >> 58;
  }
  uint32_t look_up(std::string_view name, Recent& recent) noexcept;
  void enlarge();

  std::array<Recent, kRecent> recent_{};
  Blocks<std::string> texts_;
  std::vector<uint32_t> table_;  // numbers by hash; the size is a power of two, and at least half are empty
};

struct RawCounts {
  counters::Reading begin, end;
};

struct RawStack {
  uint32_t at = 0, count = 0;  // in ThreadLog::addresses: return addresses, innermost first
};

// The record of an operation. New memory is the main cost of recording, so what few operations have is in RawExtras.
struct RawOperation {
  uint64_t begin_ticks = 0;
  std::atomic<uint64_t> end_ticks = 0;  // 0: had not ended when the log ended. An operation may end on another thread
  int64_t debug_handle = -1;
  uint32_t name = 0;           // in ThreadLog::names
  uint32_t parent = kNothing;  // index in ThreadLog::operations
  uint32_t extras = kNothing;  // index in ThreadLog::extras
  Scope scope = Scope::Operator;

  // While the operation is open.
  std::atomic<bool> over = false;  // it has ended, in time or not: it can no longer be a parent
  uint8_t receivers = 0;           // who else received its begin: bits of KYMO_MODE_HEARD
  bool ended_elsewhere = false;    // on another thread: its counts are of two threads, and mean nothing
};
static_assert(sizeof(RawOperation) == 40);

// What else is known about an operation.
struct RawExtras {
  int64_t sequence = -1;
  uint64_t forward_thread = 0;
  uint64_t engine_id = 0;
  uint32_t inputs_at = 0, inputs_size = 0;  // in ThreadLog::inputs
  uint32_t stack = kNothing;                // in ThreadLog::stacks
  uint32_t counts = kNothing;               // in ThreadLog::counts
};

struct RawBackendEvent {
  int64_t start_us = 0, end_us = 0, debug_handle = -1;
  uint32_t name = 0, backend = 0;
  uint64_t reported_ticks = 0;
};

struct RawMemory {
  uint64_t ticks = 0, address = 0;
  int64_t bytes = 0;
  uint64_t total_allocated = 0, total_reserved = 0;
  DeviceId device;
  uint32_t operation = kNothing;  // the innermost open one of the thread
  bool out_of_memory = false;
};

struct RawDeviceOperation {
  uint64_t queued_ns = 0, start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
  uint64_t queue = 0;
  DeviceId device;
  uint32_t name = 0;
  uint32_t operation = kNothing;  // the one that requested it, or in which it was reported
  bool cause_by_time = false;     // it was reported later: what was open at queued_ns requested it
};

// The records of one thread. Only that thread writes them (except end_ticks); they are read after the log has ended.
struct ThreadLog {
  uint64_t thread = 0;  // the system's id
  std::string thread_name;
  Names names;
  Blocks<RawOperation> operations;
  Blocks<RawExtras> extras;
  Blocks<RawBackendEvent> backend_events;
  Blocks<RawMemory> memory;
  Blocks<RawDeviceOperation> device_operations;
  Blocks<RawStack> stacks;
  Blocks<RawCounts> counts;
  Blocks<std::byte> inputs;     // those of one operation are contiguous
  Blocks<uintptr_t> addresses;  // those of one stack are contiguous
  uint64_t not_kept = 0;        // records that were dropped: no memory, or no space left
  std::string no_counters;      // why performance events were not counted on this thread, if they were requested

  const RawExtras& extras_of(const RawOperation& operation) const noexcept {
    static constexpr RawExtras kNone;
    return operation.extras < extras.size() ? extras[operation.extras] : kNone;
  }
};

// What the profiler itself adds to the performance events that it counts, measured when it starts.
//
//   begin()  ... read | return | the operation | end() | read ... return
//                     '------- the counts of it -------'            '--> and to those of the operation around it
struct CountOverhead {
  std::array<double, counters::kMaxEvents> own{};     // counted for an operation that does nothing
  std::array<double, counters::kMaxEvents> around{};  // more than that, for the operation that contains it
};

struct LogOptions {
  Wanted wanted = {};
  bool stacks = false;
  std::vector<counters::Event> events = {};
  CountOverhead overhead = {};  // subtracted from the counts in the result
};

// Records some hundred empty operations on this thread, in a log of its own. All 0 if there are no events, or if they
// cannot be counted. Takes about 0.2 ms.
CountOverhead measure_overhead(const LogOptions& options);

// The recorded data, for build.h.
struct LogContents {
  base::ClockPair begin, end;
  const LogOptions* options = nullptr;
  std::vector<const ThreadLog*> threads;  // in the order in which they first recorded
};

// The logs and profilers of a thread.
struct ThreadState {
  Log* current = nullptr;  // receives its operations
  Log* own = nullptr;      // the log of its own profiler, until that stops

  // Its recorders for the logs that it used recently. The entry of a destroyed log is never used: no other log has the
  // same id.
  struct Known {
    uint64_t log = 0;
    ThreadRecorder* recorder = nullptr;
  };
  static constexpr size_t kKnown = 4;
  std::array<Known, kKnown> known{};
  bool making = false;  // it is creating a recorder: allocations during that are not recorded

  uint64_t number = 0;                      // unique; 0: not set yet
  uintptr_t stack_low = 0, stack_high = 0;  // 0: not read yet
};

// Initial-exec: access costs one instruction, also in a shared library.
extern thread_local constinit ThreadState this_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Of the calling thread.
uint64_t number_of_this_thread() noexcept;

// Whether the object is on the stack of the calling thread. `object` belongs to a caller. The bounds of a stack that
// the program created itself (for a coroutine or a signal handler) are unknown. There an object counts as on the stack
// if it is not far above the caller's frame. Objects that AddressSanitizer moved to detect uses after a return count as
// if they were in their original place. Takes some µs the first time.
bool is_on_this_stack(const void* object) noexcept;

// The current position of a thread in a log.
struct Place {
  ThreadLog* thread = nullptr;    // null: nothing is recorded
  uint32_t operation = kNothing;  // the innermost open one
};

// Reference-counted: one reference of the profiler, one while operations are open that began before the end, and those
// of KeptLog and AdoptedLog of kymo/edge_engine.h.
class Log {
 public:
  // Begins now; the calling thread must also stop it.
  static Log* make(LogOptions options, EdgeProfiler* profiler) { return new Log(std::move(options), profiler); }
  void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // Ends the log: waits for calls that are running on other threads, and ignores later ones. After this the data of the
  // threads belongs to the caller, which may read it and add to it.
  void stop() noexcept;
  LogContents contents() const;

  // From any thread.
  bool on() const noexcept { return on_.load(std::memory_order_seq_cst); }
  const LogOptions& options() const noexcept { return options_; }
  EdgeProfiler* profiler() const noexcept { return profiler_.load(std::memory_order_acquire); }  // null once it stopped
  Place here() noexcept;  // of the calling thread
  // kymo_ticks(), without the call if that reads the processor's counter: between operators its code is not in the
  // instruction cache.
  uint64_t ticks() const noexcept { return __builtin_expect(reads_counter_, 1) ? record::counter() : kymo_ticks(); }

  // ---- For ThreadRecorder and engine.cc ----
  // The recorder of the calling thread: from the thread's cache, else created. Null: the log has ended, or there is no
  // memory.
  ThreadRecorder* recorder() noexcept {
    const ThreadState::Known& known = this_thread.known[id_ % ThreadState::kKnown];
    return __builtin_expect(known.log == id_, 1) ? known.recorder : find_recorder(true);
  }
  ThreadRecorder* known_recorder() noexcept {  // the same, without creating it
    const ThreadState::Known& known = this_thread.known[id_ % ThreadState::kKnown];
    return __builtin_expect(known.log == id_, 1) ? known.recorder : find_recorder(false);
  }
  // An operation ends on another thread, out of order, or after the end of the log.
  void end_elsewhere(RawOperation& operation, uint64_t ticks) noexcept;

 private:
  Log(LogOptions options, EdgeProfiler* profiler);
  ~Log();
  ThreadRecorder* find_recorder(bool make) noexcept;
  ThreadRecorder* make_recorder() noexcept;
  void leave_to_parent() noexcept;

  // All logs of the process: a forked child must not record into those of its parent.
  class All;

  const uint64_t id_;  // unique in this process: the caches of threads use it
  const uint64_t owner_;
  const LogOptions options_;
  const bool reads_counter_;
  std::atomic<EdgeProfiler*> profiler_;
  std::atomic<uint64_t> references_{1};
  std::atomic<bool> on_{true};
  base::ClockPair begin_, end_;

  mutable std::mutex mutex_;  // for the members below; recording never waits for it
  std::vector<std::unique_ptr<ThreadRecorder>> recorders_;
  uint64_t ended_elsewhere_ = 0;  // operations, while the log was on
  uint64_t open_after_end_ = 0;   // together they hold one reference
};

// The values that a backend measured itself, as in EdgeProfiler::record_backend_event().
struct BackendFacts {
  int64_t start_us = 0, end_us = 0, debug_handle = -1;
  std::string_view name, backend;
};
void backend_event(Log& log, const BackendFacts& facts) noexcept;

// One thread that records into its part of a log.
//
// Only that thread writes here. The log ends on the profiler's thread, which must know that no other thread is in a
// call. So each call is between enter() and leave(). On other threads than the profiler's, enter() and the check that
// the log is still on have one order for all threads (a sequentially consistent exchange and load: some 10 ns, which
// the profiler's own thread does not need).
class ThreadRecorder : public ThreadLog {
 public:
  // Create it on its own thread. `number`: the unique number of that thread.
  ThreadRecorder(const LogOptions& options, uint64_t number, bool owner);

  uint64_t number() const noexcept { return number_; }

  // False: the log has ended, or this thread is already in a call (an allocator that reports Kymo's own allocations).
  bool enter(const Log& log) noexcept {
    if (busy_.load(std::memory_order_relaxed) != 0) return false;
    if (owner_)
      busy_.store(1, std::memory_order_relaxed);
    else
      busy_.exchange(1, std::memory_order_seq_cst);
    if (__builtin_expect(log.on(), 1)) return true;
    leave();
    return false;
  }
  void leave() noexcept { busy_.store(0, std::memory_order_release); }
  bool busy() const noexcept { return busy_.load(std::memory_order_seq_cst) != 0; }

  // ---- Operations, between enter() and leave() ----
  uint32_t innermost() const noexcept { return innermost_; }
  bool is_innermost(const RawOperation& operation) const noexcept { return open_ == &operation; }
  // Drops those at the top that have ended on other threads or out of order.
  void settle() noexcept {
    while (open_ != nullptr && __builtin_expect(open_->over.load(std::memory_order_acquire), 0)) pop();
  }
  void push(RawOperation& operation, uint32_t number) noexcept {
    operation.parent = innermost_;
    innermost_ = number;
    open_ = &operation;
  }
  void pop() noexcept {  // and informs everything that received its begin
    const RawOperation& operation = *open_;
    innermost_ = operation.parent;
    open_ = innermost_ == kNothing ? nullptr : &operations[innermost_];
    if (__builtin_expect(operation.receivers != 0, 0)) kymo_end_heard(operation.receivers);
  }

  // Whether every operation has extras: its stack or its counts.
  bool always_has_extras() const noexcept { return always_has_extras_; }
  // Everything but the counts. Null: dropped, there is no memory.
  RawExtras* add_extras(RawOperation& operation, const OperationFacts& facts, const Inputs* inputs) noexcept;
  uint32_t begin_counts() noexcept;
  void end_counts(const RawOperation& operation) noexcept {
    const uint32_t at = extras_of(operation).counts;
    if (group_ && at != kNothing) group_->read(counts[at].end);
  }
  void end_counting() noexcept { group_.reset(); }  // once the log has ended

  uint64_t ended = 0;  // operations of this thread that it ended itself

 private:
  static constexpr size_t kDeepest = 128, kRecentStacks = 64;

  uint32_t add_stack() noexcept;  // kNothing: dropped

  const uint64_t number_;
  const bool owner_, wants_stacks_, always_has_extras_;
  std::atomic<uint32_t> busy_{0};
  RawOperation* open_ = nullptr;  // the innermost one
  uint32_t innermost_ = kNothing;
  std::optional<counters::ThreadGroup> group_;
  symbols::Method method_;
  std::array<uint32_t, kRecentStacks> recent_stacks_;  // by their hash
};

}  // namespace kymo::edge
