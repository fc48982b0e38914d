// kymo/device.h: waiting, memory, seeds.
#include "kymo/device.h"

#include "device/devices.h"
#include "device/library_cache.h"
#include "device/stream_state.h"

namespace kymo::device {

void synchronize() { current_device().synchronize_and_report(); }
void synchronize(Device device) { device.state().synchronize_and_report(); }
void synchronize_all() noexcept {
  if (forked_with_devices) return;
  for (DeviceState* device : open_devices()) {
    try {
      device->synchronize();
    } catch (...) {
    }
  }
}
void reset(Device device) { device.state().reset(); }

void empty_cache() {
  DeviceState& device = current_device();
  device.libraries().forget();
  device.allocator().empty_cache();
}

uint64_t current_allocated_memory() { return current_device().allocator().current_allocated(); }
uint64_t driver_allocated_memory() { return current_device().driver_allocated(); }
uint64_t recommended_max_memory() { return current_device().info().recommended_max; }
MemoryStatistics memory_statistics() { return current_device().allocator().statistics(); }
void reset_peak_memory() { current_device().allocator().reset_peak(); }

std::vector<std::byte> get_rng_state() { return get_rng_state(Device::current()); }
std::vector<std::byte> get_rng_state(Device device) {
  const auto state = device.state().generator().state();
  return {state.begin(), state.end()};
}
void set_rng_state(std::span<const std::byte> state) { set_rng_state(state, Device::current()); }
void set_rng_state(std::span<const std::byte> state, Device device) { device.state().generator().set_state(state); }

uint64_t seed() {
  DeviceState* device = current_device_or_null();
  return device != nullptr ? device->generator().seed() : 0;
}

namespace detail {

void set_memory_fraction(double fraction) { current_device().allocator().set_fraction(fraction); }

void seed_with(uint64_t seed) {
  if (DeviceState* device = current_device_or_null()) device->generator().manual_seed(seed);
}

}  // namespace detail

}  // namespace kymo::device
