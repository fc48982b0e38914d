#include "device/stream_state.h"

#include <time.h>

#include <exception>
#include <optional>

#include "base/clock.h"
#include "base/text.h"
#include "kymo/error.h"
#include "kymo/stream.h"

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

// ---- kymo/stream.h: streams ----------------------------------------------------------------------------------------

Stream::Stream(Device device) : state_(&device.state().next_stream()) {}
Device Stream::device() const { return Device(state_->device()); }
uint32_t Stream::id() const { return state_->id(); }
void Stream::synchronize() const { state_->synchronize(); }
bool Stream::query() const { return state_->query(); }

uint64_t Stream::native_handle() const {
  return state_->with_queue([](const Queue& queue) { return queue.native_handle(); });
}

void Stream::precede(uint64_t native_handle) const {
  const bool ordered = state_->with_queue([&](Queue& queue) { return queue.precede(native_handle); });
  if (!ordered) state_->wait();
}

void Stream::follow(uint64_t native_handle) const {
  if (state_->with_queue([&](Queue& queue) { return queue.follow(native_handle); })) return;
  throw NotAvailable(
      base::format("streams of {} have no handles: they cannot wait for a stream of another library", device().name()));
}

Stream default_stream() { return default_stream(Device::current()); }
Stream default_stream(Device device) { return Stream(device.state().default_stream()); }
Stream current_stream() { return current_stream(Device::current()); }
Stream current_stream(Device device) { return Stream(device.state().current_stream()); }
void set_stream(Stream stream) { stream.state().device().set_current_stream(stream.state()); }

// ---- kymo/stream.h: events -----------------------------------------------------------------------------------------

// The state is whether this event was recorded. Its marker may have been used by another event before.
class EventState {
 public:
  EventState(DeviceState& device, bool timing)
      : device_(device), timing_(timing), generation_(device.generation()), marker_(device.take_marker(timing)) {}

  ~EventState() {
    if (!forked_with_devices) device_.give_marker(marker_, timing_, generation_);
  }

  DeviceState& device() { return device_; }
  bool has_timing() const { return timing_; }

  void record(StreamState& stream) {
    check(stream);
    std::lock_guard lock(mutex_);
    stream.with_queue([&](Queue& queue) {
      queue.record(*marker_);
      launches_before_ = stream.errors().launches();
    });
    stream_ = &stream;
    recorded_ = true;
  }

  void wait(StreamState& stream) {
    check(stream);
    std::lock_guard lock(mutex_);
    if (recorded_) stream.with_queue([&](Queue& queue) { queue.wait(*marker_); });
  }

  bool query() {
    check_alive();
    std::lock_guard lock(mutex_);
    return recorded_ && marker_->reached();
  }

  void synchronize() {
    check_alive();
    std::lock_guard lock(mutex_);
    if (!recorded_) return;
    marker_->synchronize();
    stream_->errors().check(launches_before_);
  }

  // Ticks, after waiting. `which` is for the message.
  uint64_t time(std::string_view which) {
    check_alive();
    std::lock_guard lock(mutex_);
    if (!timing_) throw Error(base::format("the {} event was created without enable_timing", which));
    if (!recorded_) throw Error(base::format("the {} event was not recorded: record both events first", which));
    marker_->synchronize();
    const auto time = marker_->time();
    if (!time)
      throw DeviceError(base::format("the device did not time the {} event: the work before it failed", which));
    return *time;
  }

 private:
  void check_alive() const {
    device_.check_usable();
    if (generation_ != device_.generation())
      throw Error("this event was created before its device was reset: create a new one");
  }
  void check(StreamState& stream) const {
    check_alive();
    if (&stream.device() != &device_) {
      throw InvalidArgument(
          base::format("an event of {} cannot be used on a stream of {}", device_.name(), stream.device().name()));
    }
  }

  DeviceState& device_;
  const bool timing_;
  const uint32_t generation_;  // of the device
  std::mutex mutex_;
  Marker* marker_;
  bool recorded_ = false;
  // The stream where it was recorded, and the number of launches before it that may report errors.
  StreamState* stream_ = nullptr;
  uint64_t launches_before_ = 0;
};

Event::Event(bool enable_timing, Device device) : state_(std::make_unique<EventState>(device.state(), enable_timing)) {}
Event::~Event() = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;

EventState& Event::state() const {
  if (state_ == nullptr) throw Error("this event was moved to another one: use that");
  return *state_;
}

void Event::record() { state().record(state().device().current_stream()); }
void Event::record(Stream stream) { state().record(stream.state()); }
void Event::wait() { state().wait(state().device().current_stream()); }
void Event::wait(Stream stream) { state().wait(stream.state()); }
bool Event::query() const { return state().query(); }
void Event::synchronize() const { state().synchronize(); }

double Event::elapsed_time(const Event& end) const {
  DeviceState& device = state().device();
  if (&device != &end.state().device()) {
    throw InvalidArgument(
        base::format("cannot measure the time between an event of {} and an event of {}: use events of one device",
                     device.name(), end.state().device().name()));
  }
  const uint64_t first = state().time("first"), last = end.state().time("second");
  const DeviceInfo& info = device.info();
  const uint64_t mask = info.clock_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << info.clock_bits) - 1;
  const uint64_t ticks = (last - first) & mask;
  if (ticks > mask / 2) throw Error("the second event was reached before the first: the time between them is negative");
  return static_cast<double>(ticks) * static_cast<double>(info.tick_numerator) /
         static_cast<double>(info.tick_denominator) / 1e6;
}

}  // namespace kymo::device

namespace kymo {

DeviceRange device_range_start(std::string_view name, device::Stream stream) {
  return DeviceRange{stream.state().begin_range(name)};
}

void device_range_end(DeviceRange range, device::Stream stream) {
  stream.state().end_range(static_cast<uint64_t>(range));
}

}  // namespace kymo
