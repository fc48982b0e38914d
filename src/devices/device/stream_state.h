// One queue in use, and its recorder. Every operation on a device goes through run(), so a trace contains all of them.
#pragma once

#include <memory>
#include <mutex>

#include "device/backend.h"
#include "device/device_state.h"
#include "device/error_buffer.h"
#include "device/queue_recorder.h"
#include "device/watcher.h"
#include "kymo/annotate.h"

namespace kymo::device {

class StreamState {
 public:
  StreamState(DeviceState& device, StreamId id);

  DeviceState& device() const { return device_; }
  StreamId id() const { return id_; }

  // Queues one operation: submit(queue, ticket). If nothing records and there is no watcher, this adds only a branch.
  // Otherwise `describe()` describes the operation. The call becomes a range on this thread, the work becomes a range
  // on the queue's track, and watchers are called.
  template <class Describe, class Submit>
  void run(Describe&& describe, Submit&& submit) {
    device_.check_usable();
    std::lock_guard lock(mutex_);
    ++queued_;
    if (!QueueRecorder::wanted()) {
      submit(*queue_, nullptr);
      return;
    }
    const Operation operation = describe();
    const QueueRecorder::Call call = recorder_.begin(operation);
    Ticket ticket = 0;
    try {
      submit(*queue_, &ticket);
    } catch (...) {
      recorder_.abandon(call, operation);
      throw;
    }
    recorder_.end(call, operation, ticket, *queue_);
    if (call.waits) wait_locked();
  }

  // For calls that are not operations: a marker, a wait.
  template <class Use>
  decltype(auto) with_queue(Use&& use) {
    device_.check_usable();
    std::lock_guard lock(mutex_);
    ++queued_;
    return use(*queue_);
  }

  void wait();         // for all its work
  void synchronize();  // wait(), then throws the errors that kernels reported
  bool query();

  ErrorBuffer& errors() { return errors_; }

  // A range in device time; see kymo/stream.h.
  uint64_t begin_range(std::string_view name);
  void end_range(uint64_t handle);

  // Writes finished work into the trace. Until `deadline_ns` (of CLOCK_MONOTONIC; 0: now) it waits for the work that is
  // queued now, and for the stream's lock. Work that has not run by then is counted as lost. Never throws.
  void harvest(uint64_t deadline_ns) noexcept;
  bool has_pending() const noexcept { return recorder_.has_pending(); }

  // Before and after a reset of the device.
  void drop_queue();
  void make_queue();

 private:
  void wait_locked();

  DeviceState& device_;
  const StreamId id_;
  std::mutex mutex_;
  std::unique_ptr<Queue> queue_;
  QueueRecorder recorder_;
  ErrorBuffer errors_;

  // The number of calls that queued something: so far, when the stream was last seen idle, and when query() last
  // recorded its marker.
  uint64_t queued_ = 0, idle_at_ = 0, asked_at_ = 0;
  std::unique_ptr<Marker> asked_;
};

}  // namespace kymo::device
