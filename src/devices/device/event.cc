
#include <mutex>
#include <utility>

#include "base/text.h"
#include "device/stream_state.h"
#include "kymo/stream.h"

namespace kymo::device {

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
