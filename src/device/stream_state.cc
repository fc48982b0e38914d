#include "device/stream_state.h"

#include <time.h>

#include "device/names.h"
#include "kymo/error.h"

namespace kymo::device {

StreamState::StreamState(DeviceState& device, StreamId id)
    : device_(device), id_(id), queue_(device.accelerator().make_queue()), recorder_(device, id) {}

void StreamState::synchronize() {
  std::lock_guard lock(mutex_);
  check();
  queue_->synchronize();
  idle_at_ = queued_;
  if (recorder_.has_pending()) recorder_.harvest(*queue_);
}

// A marker may need a moment even where nothing is left to do, so one is left behind and asked again next time.
bool StreamState::query() {
  std::lock_guard lock(mutex_);
  check();
  if (idle_at_ == queued_) return true;
  if (asked_ == nullptr) asked_ = device_.accelerator().make_marker(false);
  if (asked_at_ != queued_) {
    queue_->record(*asked_);
    queue_->flush();
    asked_at_ = queued_;
  }
  if (!asked_->reached()) return false;
  idle_at_ = queued_;
  return true;
}

uint64_t StreamState::begin_range(std::string_view name) {
  if (!kymo::detail::recording()) return 0;
  Marker* marker = device_.take_marker(true);
  std::lock_guard lock(mutex_);
  check();
  ++queued_;
  queue_->record(*marker);
  const uint64_t handle = kymo_next_handle();
  recorder_.add_boundary(keep_name(name), handle, marker, true);
  return handle;
}

void StreamState::end_range(uint64_t handle) {
  if (handle == 0 || !kymo::detail::recording()) return;
  Marker* marker = device_.take_marker(true);
  std::lock_guard lock(mutex_);
  check();
  ++queued_;
  queue_->record(*marker);
  recorder_.add_boundary({}, handle, marker, false);
}

void StreamState::harvest(uint64_t wait_ns) noexcept {
  constexpr long kStepNs = 200'000;
  if (forked_with_devices.load(std::memory_order_relaxed)) return;
  for (uint64_t waited = 0;; waited += kStepNs) {
    {
      std::lock_guard lock(mutex_);
      try {
        if (queue_ == nullptr || !recorder_.has_pending()) return;
        if (waited == 0 && wait_ns != 0) queue_->flush();
        recorder_.harvest(*queue_);
      } catch (const Error&) {
        recorder_.give_up();  // the device failed: the program hears of it from its own calls
      }
      if (!recorder_.has_pending() || wait_ns == 0) return;
      if (waited >= wait_ns) return recorder_.give_up();
    }
    const timespec step{0, kStepNs};
    nanosleep(&step, nullptr);
  }
}

void StreamState::refuse_without_queue() const {
  throw DeviceError(device_.name() +
                    " was lost in a fault, and its driver did not give it back: start the process again");
}

void StreamState::drop_queue() {
  std::lock_guard lock(mutex_);
  recorder_.give_up();
  asked_.reset();
  queue_.reset();
  asked_at_ = idle_at_ = queued_;
}

void StreamState::make_queue() {
  std::lock_guard lock(mutex_);
  queue_ = device_.accelerator().make_queue();
}

}  // namespace kymo::device
