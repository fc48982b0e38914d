#include "device/stream_state.h"

#include <time.h>

#include <exception>
#include <optional>

#include "base/clock.h"
#include "device/names.h"
#include "kymo/error.h"

namespace kymo::device {

StreamState::StreamState(DeviceState& device, StreamId id)
    : device_(device),
      id_(id),
      queue_(device.accelerator().make_queue()),
      recorder_(device, *this),
      errors_(device.accelerator()) {}

void StreamState::synchronize() {
  const uint64_t launches = errors_.launches();
  wait();
  errors_.check(launches);
}

void StreamState::wait() {
  device_.check_usable();
  std::lock_guard lock(mutex_);
  wait_locked();
}

void StreamState::wait_locked() {
  queue_->synchronize();
  idle_at_ = queued_;
  if (recorder_.has_pending()) recorder_.harvest(*queue_);
}

// A marker may need a moment even if no work is left. So the marker is kept and checked again in the next call.
bool StreamState::query() {
  device_.check_usable();
  std::lock_guard lock(mutex_);
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
  ++queued_;
  queue_->record(*marker);
  recorder_.add_boundary({}, handle, marker, false);
}

void StreamState::harvest(uint64_t deadline_ns) noexcept {
  constexpr timespec kStep{0, 200'000};
  if (forked_with_devices.load(std::memory_order_relaxed)) return;
  std::optional<uint64_t> wanted;  // the work that was queued at the start; other threads may queue more meanwhile
  while (true) {
    const bool late = deadline_ns == 0 || base::monotonic_ns() >= deadline_ns;
    // If another thread waits for a device that hangs, it holds the lock. There is nothing to collect then.
    if (std::unique_lock lock(mutex_, std::try_to_lock); lock) {
      if (queue_ == nullptr || !recorder_.has_pending()) return;
      try {
        if (!wanted) {
          wanted = recorder_.queued();
          if (deadline_ns != 0) queue_->flush();
        }
        recorder_.harvest(*queue_);
      } catch (const std::exception&) {
        recorder_.discard_pending();  // the device failed: the program gets the error from its own calls
        return;
      }
      if (recorder_.settled() >= *wanted) return;
      if (late && deadline_ns != 0) return recorder_.discard_pending();
    }
    if (late) return;
    nanosleep(&kStep, nullptr);
  }
}

void StreamState::drop_queue() {
  std::lock_guard lock(mutex_);
  recorder_.forget();
  asked_.reset();
  errors_.forget();
  queue_.reset();
  asked_at_ = idle_at_ = queued_;
}

void StreamState::make_queue() {
  std::lock_guard lock(mutex_);
  queue_ = device_.accelerator().make_queue();
}

}  // namespace kymo::device
