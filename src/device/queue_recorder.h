// From operations on a queue to spans in a trace: each is timed by the device, kept here until it has run, and written
// on the queue's track in the order it was queued.
//
//   run() ──▶ ticket, correlation ──▶ pending ──(it has run)──▶ kymo_queue_span
//     └─▶ kymo_span: the call, on the thread that made it
//
// Nobody waits for the device here. What has run is looked for with every 64th operation, by the harvester's thread
// (harvester.h) a hundred times a second, and when a session ends. Used under the stream's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string_view>

#include "device/backend.h"
#include "device/operation.h"
#include "kymo/queue.h"
#include "kymo/queue_track.h"

namespace kymo::device {

class DeviceState;

uint64_t now_ns();  // CLOCK_MONOTONIC

class QueueRecorder {
 public:
  QueueRecorder(DeviceState& device, StreamId stream);

  struct Call {
    uint64_t began, correlation;
  };
  Call begin() noexcept { return {kymo_ticks(), kymo_next_correlation()}; }
  void end(const Call& call, const Operation& operation, Ticket ticket, Queue& queue);

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
  struct Pending {
    Operation operation;
    uint64_t correlation = 0;  // or a range's handle
    Ticket ticket = 0;
    Marker* marker = nullptr;  // of a range's boundary
    uint32_t generation = 0;
    bool is_begin = false;
    bool discarded = false;
  };
  void add(Pending pending);
  void open();
  void write(const Pending& pending, const Timing& timing);
  bool settle(const Pending& pending, Queue& queue);  // false: it has not run yet
  void pop();
  void note_clock();

  DeviceState& device_;
  const StreamId stream_;
  QueueTrack track_;  // opened with the first operation
  std::deque<Pending> pending_;
  std::atomic<size_t> pending_count_{0};
  uint64_t queued_ = 0;
  uint64_t clock_noted_ns_ = 0;
};

}  // namespace kymo::device
