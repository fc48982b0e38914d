// Turns operations on a queue into spans in a trace, and calls for watchers (watcher.h). The device times each
// operation. The recorder keeps it until it has run, and reports operations in the order in which they were queued.
//
//   run() ──▶ ticket, correlation ──▶ pending ──(it has run)──▶ kymo_queue_span, Watcher::completed
//     └─▶ kymo_span: the call, on the thread that made it; Watcher::queued
//
// Nothing here waits for the device. Finished operations are collected with every 256th operation, by the harvester's
// thread (below) a hundred times per second, and at the end of a session. Used under the stream's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/clock_map.h"
#include "base/fifo.h"
#include "device/backend.h"
#include "device/watcher.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"
#include "kymo/queue_track.h"

namespace kymo::device {

class DeviceState;
class StreamState;

class QueueRecorder {
 public:
  QueueRecorder(DeviceState& device, StreamState& stream);

  // Must operations be reported? Costs one load.
  static bool wanted() noexcept { return (kymo_mode.load(std::memory_order_relaxed) & kWantedBits) != 0; }

  // Around an operation that is queued: begin(), then one of the other two functions.
  struct Watched {
    Watcher* watcher = nullptr;
    uint64_t execution = 0;
  };
  using Watchers = std::array<Watched, kWatcherRoles>;
  struct Call {
    uint64_t began = 0, correlation = 0;
    bool recorded = false, watched = false;
    Watchers watchers{};
    bool waits = false;  // wait for the operation
  };
  Call begin(const Operation& operation) noexcept;
  void end(const Call& call, const Operation& operation, Ticket ticket, Queue& queue);
  void abandon(const Call& call, const Operation& operation) noexcept;  // it could not be queued

  // The begin or end of a range, timed by a marker that was just recorded in the queue. Takes the marker.
  void add_boundary(std::string_view name, uint64_t handle, Marker* marker, bool is_begin);

  // Writes the operations that have run.
  void harvest(Queue& queue);
  // Pending operations are counted as lost and not written, because the device did not complete them. They are still
  // redeemed, because backends rely on that.
  void discard_pending();
  // The queue is about to be destroyed, and with it the device's clock.
  void forget();

  // How many operations were queued since the start, and how many of them are settled.
  uint64_t queued() const { return queued_; }
  uint64_t settled() const { return queued_ - pending_.size(); }

  bool has_pending() const noexcept { return pending_count_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr uint32_t kWantedBits = KYMO_MODE_RECORDING | KYMO_MODE_WATCHED;

  struct Pending {
    OperationFacts operation;
    Watchers watchers{};
    uint64_t call_ticks = 0;   // the host's clock, during the call that queued it
    uint64_t correlation = 0;  // or a range's handle
    Ticket ticket = 0;
    Marker* marker = nullptr;  // of a range's boundary
    uint32_t generation = 0;
    bool is_begin = false;
    bool recorded = true, watched = false;  // when it was queued
    bool discarded = false;
  };
  Pending& add();
  void watch_what_was_added();
  void open();
  void write(const Pending& pending, const Timing& timing);
  void report_completed(const Pending& pending, const Timing& timing) noexcept;
  void report_lost(const Watchers& watchers, const OperationFacts& facts) noexcept;
  bool settle(const Pending& pending, Queue& queue);  // false: it has not run yet
  void pop();
  void note_clock();
  void measure_host_clock();

  DeviceState& device_;
  StreamState& stream_;
  QueueTrack track_;  // opened with the first operation
  base::Fifo<Pending> pending_;
  std::atomic<size_t> pending_count_{0};
  uint64_t queued_ = 0;
  uint64_t clock_noted_ns_ = 0;
  base::ClockMap device_clock_;  // from the last reading
  base::ClockPair opened_;       // the host's clock when the track was opened
  base::ClockMap host_clock_;    // from there until now
};

// Texts that stay valid: a trace may contain the name of a kernel after its library is gone.

// A copy of the text that lives as long as the process. Thread-safe.
std::string_view keep_name(std::string_view name);

// The site for the executions of a kernel, one per name. It lives as long as the process.
Site& keep_kernel_site(std::string_view name);

// The thread that processes finished device work (for the trace and for watchers) while no other thread does.
//
// It is started with the first such work, sleeps while nothing is pending, and never records anything of its own. It is
// not joined: at the end of the process, the end of the last session has flushed everything (kymo_on_flush).

// Work is pending on some stream: makes sure that the thread runs.
void watch_pending_work();

// Waits until `deadline_ns` (of CLOCK_MONOTONIC) for the work that is queued now on all streams. Work that has not run
// by then is counted as lost.
void harvest_all(uint64_t deadline_ns) noexcept;

}  // namespace kymo::device
