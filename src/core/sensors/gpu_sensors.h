// What a GPU's driver says of it: power, clocks, temperature, memory, and the processes that use it.
//
// NVML (libnvidia-ml.so.1) is loaded at run time. One thread may use an object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kymo::sensors {

class GpuSensors {
 public:
  // `bus` is the PCI address, as CUDA gives it. Without NVML it has no values.
  explicit GpuSensors(const std::string& bus);
  // The GPUs of this machine, by their numbers; none without NVML.
  static std::vector<std::unique_ptr<GpuSensors>> all();
  ~GpuSensors();
  GpuSensors(const GpuSensors&) = delete;
  GpuSensors& operator=(const GpuSensors&) = delete;

  std::string device_name() const;  // "NVIDIA H200"
  // The names of all values, with their units, in the order of read().
  static std::vector<std::string> names();
  // Calls `visit` for each value that the device has. `with_slow`: also those that take milliseconds.
  void read(bool with_slow, const std::function<void(size_t index, double value)>& visit) const;
  // What does not change: limits.
  std::vector<std::pair<std::string, std::string>> limits() const;
  // The ids of the processes that compute on it, as the driver's process namespace has them. Nothing: not known.
  std::optional<std::vector<uint32_t>> processes() const;

 private:
  GpuSensors();

  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace kymo::sensors
