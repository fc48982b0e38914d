#include "kymo/stream.h"

#include "base/text.h"
#include "device/stream_state.h"
#include "kymo/error.h"

namespace kymo::device {

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

}  // namespace kymo::device

namespace kymo {

DeviceRange device_range_start(std::string_view name, device::Stream stream) {
  return DeviceRange{stream.state().begin_range(name)};
}

void device_range_end(DeviceRange range, device::Stream stream) {
  stream.state().end_range(static_cast<uint64_t>(range));
}

}  // namespace kymo
