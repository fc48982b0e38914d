// From operations on a queue to spans in a trace, and to those who watch (watcher.h): each is timed by the device, kept
// here until it has run, and told in the order it was queued.
//
//   run() ──▶ ticket, correlation ──▶ pending ──(it has run)──▶ kymo_queue_span, Watcher::completed
//     └─▶ kymo_span: the call, on the thread that made it; Watcher::queued
//
// Nobody waits for the device here. What has run is looked for with every 256th operation, by the harvester's thread
// (harvester.h) a hundred times a second, and when a session ends. Used under the stream's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/fifo.h"
#include "device/backend.h"
#include "device/operation.h"
#include "device/watcher.h"
#include "kymo/queue.h"
#include "kymo/queue_track.h"

namespace kymo::device {

class DeviceState;
class StreamState;

class QueueRecorder {
 public:
  QueueRecorder(DeviceState& device, StreamState& stream);

  // Must an operation be told of? One load.
  static bool wanted() noexcept { return (kymo_mode.load(std::memory_order_relaxed) & kWantedBits) != 0; }

  // Around an operation that is queued: begin(), and then one of the two others.
  struct Watched {
    Watcher* watcher = nullptr;
    uint64_t execution = 0;
  };
  using Watchers = std::array<Watched, kWatcherRoles>;
  struct Call {
    uint64_t began = 0, correlation = 0;
    bool recorded = false, watched = false;
    Watchers watchers{};
    bool waits = false;  // the operation must be waited for
  };
  Call begin(const Operation& operation) noexcept;
  void end(const Call& call, const Operation& operation, Ticket ticket, Queue& queue);
  void abandon(const Call& call, const Operation& operation) noexcept;  // it could not be queued

  // A range's begin or end, timed by a marker that was just recorded in the queue. Takes the marker.
  void add_boundary(std::string_view name, uint64_t handle, Marker* marker, bool is_begin);

  // Writes what has run.
  void harvest(Queue& queue);
  // What is pending is counted as lost and will not be written: the device did not come that far. It is still redeemed,
  // because backends count on that.
  void discard_pending();
  // The queue is going away, and the device's clock with it.
  void forget();

  // How many were queued and how many of them are settled, since the beginning.
  uint64_t queued() const { return queued_; }
  uint64_t settled() const { return queued_ - pending_.size(); }

  bool has_pending() const noexcept { return pending_count_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr uint32_t kWantedBits = 1 | 4;  // something records; somebody watches

  struct Pending {
    OperationFacts operation;
    Watchers watchers{};
    uint64_t call_ticks = 0;   // of the host's clock, in the call that queued it
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
  void tell(const Pending& pending, const Timing& timing) noexcept;
  void tell_lost(const Watchers& watchers, const OperationFacts& facts) noexcept;
  uint64_t host_ns(uint64_t ticks) const noexcept;    // CLOCK_MONOTONIC
  bool settle(const Pending& pending, Queue& queue);  // false: it has not run yet
  void pop();
  void note_clock();
  void measure_ticks();

  DeviceState& device_;
  StreamState& stream_;
  QueueTrack track_;  // opened with the first operation
  base::Fifo<Pending> pending_;
  std::atomic<size_t> pending_count_{0};
  uint64_t queued_ = 0;
  uint64_t clock_noted_ns_ = 0;
  ClockReading clock_;  // the last
  uint64_t opened_ticks_ = 0, opened_ns_ = 0;
  double ns_per_tick_ = 0;  // of the host's clock
};

}  // namespace kymo::device
