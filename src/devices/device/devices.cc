#include "device/devices.h"

#include <pthread.h>
#include <stdlib.h>

#include <array>
#include <charconv>
#include <map>
#include <mutex>

#include "base/environment.h"
#include "base/static_program.h"
#include "base/text.h"
#include "device/language.h"
#include "device/library.h"
#include "device/stream_state.h"
#include "kymo/device.h"

namespace kymo::device {

std::atomic<bool> forked_with_devices{false};

void refuse_after_fork() {
  throw Error(
      "this process was forked from one that had opened a device, and drivers do not survive a fork; start it with "
      "exec, "
      "or fork before the first use of a device");
}

namespace {

constexpr const char* kStaticProgram =
    "this program is linked with -static and cannot load the driver of a device: link it without -static (Kymo's own "
    "libraries may be static)";

// In the order in which they are tried for the best device.
struct BackendLoader {
  std::string_view name;
  std::unique_ptr<Driver> (*load)();
};
constexpr std::array kBackends{BackendLoader{"cuda", load_cuda}, BackendLoader{"opencl", load_opencl},
                               BackendLoader{"vulkan", load_vulkan}};

struct LoadedBackend {
  bool tried = false;
  std::unique_ptr<Driver> driver;
  std::string absent;  // the reason why the backend is not available
};

struct Devices {
  std::recursive_mutex mutex;  // for everything except `current`
  std::array<LoadedBackend, kBackends.size()> backends;
  std::map<std::string, DeviceState*> open;
  std::atomic<DeviceState*> current{nullptr};

  LoadedBackend& backend(size_t index) {
    LoadedBackend& backend = backends[index];
    if (backend.tried) return backend;
    backend.tried = true;
    if (base::is_static_program()) {
      backend.absent = kStaticProgram;
      return backend;
    }
    try {
      backend.driver = kBackends[index].load();
      if (backend.driver->device_count() == 0) {
        backend.driver.reset();
        backend.absent = base::format("{} has no device", kBackends[index].name);
      }
    } catch (const Error& error) {
      backend.absent = error.what();
    }
    return backend;
  }

  DeviceState& open_at(size_t index, int device) {
    Driver& driver = *backends[index].driver;
    const std::string name = base::format("{}:{}", kBackends[index].name, device);
    if (const auto found = open.find(name); found != open.end()) return *found->second;
    auto* state = new DeviceState(name, driver.open(device));
    if (open.empty()) pthread_atfork(nullptr, nullptr, [] { forked_with_devices = true; });
    open.emplace(name, state);
    return *state;
  }

  // A processor that is offered as a device comes after all other devices. A device that cannot be opened is skipped.
  DeviceState& best() {
    if (base::is_static_program()) throw NotAvailable(kStaticProgram);
    std::string reasons;
    for (const bool real : {true, false})
      for (size_t i = 0; i < kBackends.size(); ++i) {
        Driver* driver = backend(i).driver.get();
        for (int device = 0; driver != nullptr && device < driver->device_count(); ++device) {
          try {
            if (driver->describe(device).is_processor != real) return open_at(i, device);
          } catch (const DeviceError& error) {
            reasons += base::format("\n  {}:{}: {}", kBackends[i].name, device, error.what());
          } catch (const NotAvailable& error) {
            reasons += base::format("\n  {}:{}: {}", kBackends[i].name, device, error.what());
          }
        }
      }
    for (const LoadedBackend& tried : backends)
      if (!tried.absent.empty()) reasons += base::format("\n  {}", tried.absent);
    throw NotAvailable("there is no accelerator here:" + reasons);
  }

  DeviceState& by_name(std::string_view text) {
    const DeviceName name = DeviceName::parse(text);
    for (size_t i = 0; i < kBackends.size(); ++i) {
      if (kBackends[i].name != name.backend) continue;
      LoadedBackend& loaded = backend(i);
      if (loaded.driver == nullptr) throw NotAvailable(loaded.absent);
      const int count = loaded.driver->device_count();
      if (name.index >= count) {
        throw NotAvailable(base::format("there is no device {}:{}: {} has {} device{} here; `kymo devices` lists them",
                                        name.backend, name.index, name.backend, count, count == 1 ? "" : "s"));
      }
      return open_at(i, name.index);
    }
    throw Error("unreachable: DeviceName::parse knows the backends");
  }
};

Devices& devices() {
  static auto& all = *new Devices;
  return all;
}

std::string asked_for() {
  const char* asked = base::environment("KYMO_DEVICE");
  return asked != nullptr ? asked : "";
}

}  // namespace

DeviceName DeviceName::parse(std::string_view text) {
  DeviceName name;
  const size_t colon = text.find(':');
  name.backend = text.substr(0, colon);
  bool good = false;
  for (const BackendLoader& backend : kBackends) good |= backend.name == name.backend;
  if (colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), name.index);
    good = good && error == std::errc{} && end == number.data() + number.size() && name.index >= 0;
  }
  if (!good) {
    throw InvalidArgument(base::format(
        "\"{}\" is not a device; use a name like cuda:0, opencl:0 or vulkan:0 (`kymo devices` lists the devices here)",
        text));
  }
  return name;
}

DeviceState& open_device(std::string_view name) {
  if (forked_with_devices) refuse_after_fork();
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  return all.by_name(name);
}

DeviceState& current_device() {
  if (__builtin_expect(forked_with_devices.load(std::memory_order_relaxed), 0)) refuse_after_fork();
  Devices& all = devices();
  if (DeviceState* current = all.current.load(std::memory_order_acquire)) return *current;
  std::lock_guard lock(all.mutex);
  if (DeviceState* current = all.current.load(std::memory_order_acquire)) return *current;
  const std::string asked = asked_for();
  DeviceState& found = asked.empty() ? all.best() : all.by_name(asked);
  DeviceState* meanwhile = nullptr;  // the device that set_device selected during the search
  return all.current.compare_exchange_strong(meanwhile, &found) ? found : *meanwhile;
}

void set_current_device(DeviceState& device) { devices().current.store(&device, std::memory_order_release); }

DeviceState* current_device_or_null() {
  try {
    return &current_device();
  } catch (const NotAvailable&) {
    return nullptr;
  }
}

std::vector<DeviceState*> open_devices() {
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  std::vector<DeviceState*> open;
  for (const auto& [name, state] : all.open) open.push_back(state);
  return open;
}

// ---- kymo/accelerator.h, and the part of kymo/device.h that lists devices ------------------------------------------

Device::Device(std::string_view name) : state_(&open_device(name)) {}
Device Device::current() { return Device(current_device()); }
const std::string& Device::name() const { return state_->name(); }
const std::string& Device::description() const { return state_->info().name; }
void set_device(Device device) { set_current_device(device.state()); }

int device_count() {
  DeviceState* current = current_device_or_null();
  if (current == nullptr) return 0;
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  const DeviceName name = DeviceName::parse(current->name());
  for (size_t i = 0; i < kBackends.size(); ++i)
    if (kBackends[i].name == name.backend) return all.backends[i].driver->device_count();
  return 0;
}

bool is_available() { return !forked_with_devices && device_count() > 0; }

std::vector<BackendReport> list_devices() {
  const DeviceState* current = nullptr;
  try {
    current = current_device_or_null();
  } catch (const Error&) {
    // KYMO_DEVICE does not name a device. The list of devices is especially useful then.
  }
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  std::vector<BackendReport> reports;
  for (size_t i = 0; i < kBackends.size(); ++i) {
    BackendReport report;
    report.backend = kBackends[i].name;
    LoadedBackend& backend = all.backend(i);
    report.absent = backend.absent;
    const int count = backend.driver != nullptr ? backend.driver->device_count() : 0;
    for (int device = 0; device < count; ++device) {
      DeviceInfo info = backend.driver->describe(device);
      add_metal(info);
      BackendReport::Entry entry;
      entry.name = base::format("{}:{}", report.backend, device);
      entry.description = info.name;
      entry.driver = info.driver;
      entry.uuid = info.uuid;
      for (const Language language : info.languages) entry.languages.emplace_back(language_name(language));
      entry.capabilities = info.capabilities;
      if (info.is_processor) entry.capabilities.insert(entry.capabilities.begin(), "processor");
      entry.memory = info.total_memory;
      entry.recommended_max = info.recommended_max;
      entry.max_threads_per_group = info.max_group_threads;
      entry.execution_width = info.execution_width;
      entry.compute_units = info.compute_units;
      entry.current = current != nullptr && current->name() == entry.name;
      report.devices.push_back(std::move(entry));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

// ---- kymo/device.h: waiting, memory, seeds -------------------------------------------------------------------------

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
