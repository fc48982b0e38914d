// What one profiler records, as it comes: a log for each thread, put together by nobody until the profiler stops.
//
// A thread appends to its own log alone and takes no lock: blocks of records that never move, an arena of bytes for
// what has no fixed length. Names are numbers in the thread's own table. Everything is in ticks (kymo_ticks()) and
// turned into time by the two pairs of clocks that the log took at its ends. The recording calls of kymo/edge_engine.h
// are made of this (engine.cc); build.h reads it afterwards.
//
//   begins          Log* log = Log::make(options, profiler);     one reference, the profiler's
//   records         threads, through recorder.h
//   ends            log->stop();                                 nobody writes any more, whatever threads still do
//   is read         build_result(log->contents(), …);
//   is gone         log->release();                              or later: when the last operation that is open ends
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

#include "counters/thread_group.h"
#include "edge/blocks.h"
#include "edge/names.h"
#include "edge/thread_state.h"
#include "kymo/edge_engine.h"

namespace kymo {
class EdgeProfiler;
}

namespace kymo::edge {

class ThreadRecorder;

inline constexpr uint32_t kNothing = UINT32_MAX;

// One moment on the processor's counter and on the host's clocks.
struct ClockPair {
  uint64_t ticks = 0, monotonic_ns = 0, realtime_ns = 0;
};

struct RawCounts {
  counters::Reading begin, end;
};

struct RawStack {
  uint32_t at = 0, count = 0;  // in ThreadLog::addresses: return addresses, innermost first
};

// The record of an operation.
struct RawOperation {
  uint64_t begin_ticks = 0;
  std::atomic<uint64_t> end_ticks = 0;  // 0: not ended before the log was. An operation may end on another thread
  int64_t debug_handle = -1;
  int64_t sequence = -1;
  uint64_t forward_thread = 0;
  uint64_t engine_id = 0;
  uint32_t name = 0;                        // in ThreadLog::names
  uint32_t parent = kNothing;               // index in ThreadLog::operations
  uint32_t inputs_at = 0, inputs_size = 0;  // in ThreadLog::inputs
  uint32_t stack = kNothing;                // in ThreadLog::stacks
  uint32_t counts = kNothing;               // in ThreadLog::counts
  Scope scope = Scope::Operator;

  // While it is open.
  std::atomic<bool> over = false;  // it has ended, in time or not: no longer anybody's parent
  uint8_t heard = 0;               // who else heard it begin: kymo_mode's bits 0 and 1
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
  uint32_t operation = kNothing;  // the one that asked for it
};

// What one thread recorded. Written by that thread alone (but end_ticks); read after the log has ended.
struct ThreadLog {
  uint64_t thread = 0;  // the system's id
  std::string thread_name;
  Names names;
  Blocks<RawOperation> operations;
  Blocks<RawBackendEvent> backend_events;
  Blocks<RawMemory> memory;
  Blocks<RawDeviceOperation> device_operations;
  Blocks<RawStack> stacks;
  Blocks<RawCounts> counts;
  Blocks<std::byte> inputs;     // one operation's lie together
  Blocks<uintptr_t> addresses;  // one stack's lie together
  uint64_t not_kept = 0;        // records for which there was no memory, or no room left
  std::string no_counters;      // why performance events were not counted on this thread, where they were asked for
};

struct LogOptions {
  Wanted wanted = {};
  bool stacks = false;
  std::vector<counters::Event> events = {};
};

// What was recorded, for build.h.
struct LogContents {
  ClockPair begin, end;
  const LogOptions* options = nullptr;
  std::vector<const ThreadLog*> threads;  // in the order in which they first recorded
};

// Where a thread stands in a log.
struct Place {
  ThreadLog* thread = nullptr;    // null: nothing is kept
  uint32_t operation = kNothing;  // the innermost open one
};

// Counted references: the profiler's, one for as long as operations are open that began before the end, and those of
// kymo/edge_engine.h's KeptLog and AdoptedLog.
class Log {
 public:
  // Begins now; the calling thread is the one that must stop it.
  static Log* make(LogOptions options, EdgeProfiler* profiler) { return new Log(std::move(options), profiler); }
  void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // Ends it: waits for calls that are under way on other threads, and from then on takes nothing. After this what the
  // threads wrote is the caller's, to read and to add to.
  void stop() noexcept;
  LogContents contents() const;

  // From any thread.
  bool on() const noexcept { return on_.load(std::memory_order_seq_cst); }
  const LogOptions& options() const noexcept { return options_; }
  EdgeProfiler* profiler() const noexcept { return profiler_.load(std::memory_order_acquire); }  // null once it stopped
  Place here() noexcept;  // of the calling thread

  // ---- For recorder.h and engine.cc ----
  // What the calling thread writes to: found in a cache of the thread's, else made. Null: ended, or no memory.
  ThreadRecorder* recorder() noexcept {
    const ThreadState::Known& known = this_thread.known[id_ % ThreadState::kKnown];
    return __builtin_expect(known.log == id_, 1) ? known.recorder : find_recorder(true);
  }
  ThreadRecorder* known_recorder() noexcept {  // the same, and not made
    const ThreadState::Known& known = this_thread.known[id_ % ThreadState::kKnown];
    return __builtin_expect(known.log == id_, 1) ? known.recorder : find_recorder(false);
  }
  // An operation ends on a thread that is not its own, out of order, or after the end.
  void end_elsewhere(RawOperation& operation, uint64_t ticks) noexcept;

 private:
  Log(LogOptions options, EdgeProfiler* profiler);
  ~Log();
  ThreadRecorder* find_recorder(bool make) noexcept;
  ThreadRecorder* make_recorder() noexcept;

  const uint64_t id_;  // of no other log of this process, ever: caches of threads go by it
  const uint64_t owner_;
  const LogOptions options_;
  std::atomic<EdgeProfiler*> profiler_;
  std::atomic<uint64_t> references_{1};
  std::atomic<bool> on_{true};
  ClockPair begin_, end_;

  mutable std::mutex mutex_;  // for what follows. Nobody waits for it while he records
  std::vector<std::unique_ptr<ThreadRecorder>> recorders_;
  uint64_t ended_elsewhere_ = 0;  // operations, while it was on
  uint64_t open_after_end_ = 0;   // they keep a reference together
};

// What a backend measured itself, as EdgeProfiler::record_backend_event() has it.
struct BackendFacts {
  int64_t start_us = 0, end_us = 0, debug_handle = -1;
  std::string_view name, backend;
};
void backend_event(Log& log, const BackendFacts& facts) noexcept;

}  // namespace kymo::edge
