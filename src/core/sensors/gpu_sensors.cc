#include "sensors/gpu_sensors.h"

#include <dlfcn.h>

#include <iterator>

#include "base/text.h"

namespace kymo::sensors {

namespace {

enum class SensorValue : uint8_t { Number, Wide, Percents, Memory, EccErrors, NvLinkErrors };

struct Sensor {
  const char *name, *function;
  int argument;  // of the function; -1: it has none
  double factor;
  SensorValue value = SensorValue::Number;
  bool is_slow = false;
};
constexpr int kSmClock = 1, kMemoryClock = 2;
constexpr Sensor kSensors[] = {
    {"power [W]", "nvmlDeviceGetPowerUsage", -1, 1e-3},
    {"SM clock [MHz]", "nvmlDeviceGetClockInfo", kSmClock, 1},
    {"memory clock [MHz]", "nvmlDeviceGetClockInfo", kMemoryClock, 1},
    {"temperature [C]", "nvmlDeviceGetTemperature", 0, 1},
    {"utilization [%]", "nvmlDeviceGetUtilizationRates", -1, 1, SensorValue::Percents},
    {"device memory used [bytes]", "nvmlDeviceGetMemoryInfo", -1, 1, SensorValue::Memory},
    {"throttle reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", -1, 1, SensorValue::Wide},
    {"energy [J]", "nvmlDeviceGetTotalEnergyConsumption", -1, 1e-3, SensorValue::Wide, true},
    {"ECC errors, corrected", "nvmlDeviceGetTotalEccErrors", 0, 1, SensorValue::EccErrors, true},
    {"ECC errors, not corrected", "nvmlDeviceGetTotalEccErrors", 1, 1, SensorValue::EccErrors, true},
    {"NVLink errors", "nvmlDeviceGetFieldValues", -1, 1, SensorValue::NvLinkErrors, true},
};
constexpr Sensor kLimits[] = {
    {"power limit [W]", "nvmlDeviceGetEnforcedPowerLimit", -1, 1e-3},
    {"max SM clock [MHz]", "nvmlDeviceGetMaxClockInfo", kSmClock, 1},
    {"max memory clock [MHz]", "nvmlDeviceGetMaxClockInfo", kMemoryClock, 1},
    {"memory bus [bits]", "nvmlDeviceGetMemoryBusWidth", -1, 1},
};

template <class Function>
Function symbol_of(void* library, const char* name) {
  return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

// Of all links: wrong checksums of packets and of data, packets that were sent again, and links that were started
// again.
std::optional<double> nvlink_errors(void* function, void* device) {
  struct Field {
    uint32_t id, scope;
    int64_t time, latency;
    uint32_t type;
    int error;
    uint64_t value;
  };
  Field fields[4]{};
  constexpr uint32_t kIds[] = {38, 45, 52, 59};
  for (size_t i = 0; i < std::size(kIds); ++i) fields[i].id = kIds[i];
  const auto get = reinterpret_cast<int (*)(void*, int, Field*)>(function);
  if (get(device, static_cast<int>(std::size(fields)), fields) != 0) return {};
  std::optional<double> sum;
  for (const Field& one : fields)
    if (one.error == 0) sum = sum.value_or(0) + static_cast<double>(one.value);
  return sum;
}

// Nothing if the library or the device does not have it.
std::optional<double> value_of(void* library, void* device, const Sensor& sensor) {
  union {
    uint32_t number;
    uint32_t percents[2];  // of the GPU, of its memory
    uint64_t wide;
    uint64_t memory[3];  // all, free, used
  } result{};
  void* const function = symbol_of<void*>(library, sensor.function);
  if (function == nullptr || device == nullptr) return {};
  if (sensor.value == SensorValue::NvLinkErrors) return nvlink_errors(function, device);
  if (sensor.value == SensorValue::EccErrors) {  // since the driver was loaded
    const auto get = reinterpret_cast<int (*)(void*, int, int, uint64_t*)>(function);
    return get(device, sensor.argument, 0, &result.wide) == 0 ? std::optional(static_cast<double>(result.wide))
                                                              : std::nullopt;
  }
  const int error = sensor.argument < 0
                        ? reinterpret_cast<int (*)(void*, void*)>(function)(device, &result)
                        : reinterpret_cast<int (*)(void*, int, void*)>(function)(device, sensor.argument, &result);
  if (error != 0) return {};
  const double value = sensor.value == SensorValue::Memory ? static_cast<double>(result.memory[2])
                       : sensor.value == SensorValue::Wide ? static_cast<double>(result.wide)
                                                           : static_cast<double>(result.number);
  return value * sensor.factor;
}

}  // namespace

GpuSensors::GpuSensors() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  const auto begin = symbol_of<int (*)()>(library_, "nvmlInit_v2");
  if (begin == nullptr || begin() != 0) library_ = nullptr;
}

GpuSensors::GpuSensors(const std::string& bus) : GpuSensors() {
  const auto get = symbol_of<int (*)(const char*, void**)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (get == nullptr || get(bus.c_str(), &device_) != 0) device_ = nullptr;
}

std::vector<std::unique_ptr<GpuSensors>> GpuSensors::all() {
  std::vector<std::unique_ptr<GpuSensors>> gpus;
  for (uint32_t number = 0;; ++number) {
    std::unique_ptr<GpuSensors> one(new GpuSensors);
    const auto get = symbol_of<int (*)(uint32_t, void**)>(one->library_, "nvmlDeviceGetHandleByIndex_v2");
    if (get == nullptr || get(number, &one->device_) != 0) return gpus;
    gpus.push_back(std::move(one));
  }
}

std::string GpuSensors::device_name() const {
  char text[96] = {};
  const auto get = symbol_of<int (*)(void*, char*, uint32_t)>(library_, "nvmlDeviceGetName");
  return get != nullptr && device_ != nullptr && get(device_, text, sizeof text - 1) == 0 ? text : "";
}

GpuSensors::~GpuSensors() {
  if (const auto end = symbol_of<int (*)()>(library_, "nvmlShutdown")) end();
}

std::vector<std::string> GpuSensors::names() {
  std::vector<std::string> all;
  for (const Sensor& one : kSensors) all.emplace_back(one.name);
  return all;
}

void GpuSensors::read(bool with_slow, const std::function<void(size_t index, double value)>& visit) const {
  for (size_t i = 0; i < std::size(kSensors); ++i) {
    if (kSensors[i].is_slow && !with_slow) continue;
    if (const auto value = value_of(library_, device_, kSensors[i])) visit(i, *value);
  }
}

std::vector<std::pair<std::string, std::string>> GpuSensors::limits() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Sensor& one : kLimits)
    if (const auto value = value_of(library_, device_, one)) all.emplace_back(one.name, base::format("{:.0f}", *value));
  return all;
}

std::optional<std::vector<uint32_t>> GpuSensors::processes() const {
  struct Process {
    uint32_t pid;
    uint64_t bytes;
    uint32_t instances[2];
  };
  constexpr uint32_t kMost = 256;
  static thread_local Process found[kMost];
  uint32_t count = kMost;
  const auto get = symbol_of<int (*)(void*, uint32_t*, Process*)>(library_, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (get == nullptr || device_ == nullptr || get(device_, &count, found) != 0 || count > kMost) return {};
  std::vector<uint32_t> pids;
  for (uint32_t i = 0; i < count; ++i) pids.push_back(found[i].pid);
  return pids;
}

}  // namespace kymo::sensors
