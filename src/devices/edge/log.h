// The recorded data of one profiler: a log for each thread. The logs are combined only after the profiler has stopped.
//
// A thread appends only to its own log and takes no lock: blocks of records that never move, and an arena of bytes for
// data without a fixed length. Names are numbers in the thread's own table. All times are in ticks (kymo_ticks()). They
// are converted with the two pairs of clocks that the log reads at its begin and end. The recording calls of
// kymo/edge_engine.h use this (engine.cc); build.h reads it afterwards.
//
//   begins          Log* log = Log::make(options, profiler);     one reference, the profiler's
//   records         threads, through recorder.h
//   ends            log->stop();                                 from now on nothing is written
//   is read         build_result(log->contents(), …);
//   is destroyed    log->release();                              or later: when the last open operation ends
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "counters/thread_group.h"
#include "edge/blocks.h"
#include "edge/count_overhead.h"
#include "edge/names.h"
#include "edge/thread_state.h"
#include "kymo/edge_engine.h"
#include "kymo/queue.h"
#include "record/clock.h"

namespace kymo {
class EdgeProfiler;
}

namespace kymo::edge {

class ThreadRecorder;

inline constexpr uint32_t kNothing = UINT32_MAX;

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

struct LogOptions {
  Wanted wanted = {};
  bool stacks = false;
  std::vector<counters::Event> events = {};
  CountOverhead overhead = {};  // subtracted from the counts in the result
};

// The recorded data, for build.h.
struct LogContents {
  base::ClockPair begin, end;
  const LogOptions* options = nullptr;
  std::vector<const ThreadLog*> threads;  // in the order in which they first recorded
};

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

  // ---- For recorder.h and engine.cc ----
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

}  // namespace kymo::edge
