// What GPUs did while they were busy: the sampled counters of a device, given to its kernels by time.
//
// A sample is the mean of a time. It belongs to a kernel if only this kernel ran in that time, any number of times and
// also with gaps: a kernel that is shorter than the interval has what its instances have together. Samples in which
// other kernels or a copy ran for more than a hundredth of the time belong to none. Shares of a peak are per time that
// the kernel ran, not per sample.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

// Counters of the default set, as sample/pm_sampling.cc and sensors/gpu_sensors.cc call them.
inline constexpr std::string_view kActive = "multiprocessors active [%]", kWarps = "warps active [%]",
                                  kTensor = "tensor cores active [%]", kRead = "DRAM read [%]",
                                  kWritten = "DRAM written [%]", kInstructions = "instructions per cycle",
                                  kPower = "power [W]", kSmClock = "SM clock [MHz]", kCycles = "SM cycles per second",
                                  kFma = "FMA pipe active [%]", kFp64 = "FP64 pipe active [%]";

// Of a kernel, or of a device as long as it works.
struct GpuRow {
  std::string name;
  uint64_t count = 0, total_ns = 0;  // of the kernel's instances
  uint64_t samples = 0;
  uint64_t covered_ns = 0, sampled_ns = 0;  // of the samples: in which it ran, and all
  std::vector<double> values;               // by GpuUse::counters; empty: not enough samples
  double registers = 0, threads = 0;        // for a thread; of a block: the largest. 0: not recorded
  double joules = 0, joules_launches = 0;   // while only this kernel ran between two readings of the energy
};

// What a kernel, or a device as long as it works, computes and moves, against the peaks of the device. Operations are
// those that its pipes can do in the cycles in which they are active: of 32-bit and 64-bit floats a fused
// multiplication and addition of all 32 threads of a warp, of tensor cores products of 16-bit floats. So other
// instructions and threads that are switched off make it too high.
struct Roofline {
  double operations = 0, tensor_operations = 0;  // a second; the second ones are of the first
  double bytes = 0;                              // of DRAM, a second
  double peak = 0, tensor_peak = 0, peak_bytes = 0;

  double intensity() const { return bytes > 0 ? operations / bytes : 0; }  // operations of a byte
  bool is_of_tensor_cores() const { return 2 * tensor_operations > operations; }
  double highest() const { return is_of_tensor_cores() ? tensor_peak : peak; }
  bool is_limited_by_memory() const { return operations * peak_bytes < highest() * bytes; }
  // What it does of what the GPU could do with so many operations for each byte.
  double share() const { return is_limited_by_memory() ? bytes / peak_bytes : operations / highest(); }
  std::string_view limit() const {
    return is_limited_by_memory() ? "memory" : is_of_tensor_cores() ? "tensor cores" : "32-bit floats";
  }
};

struct GpuSensor {
  std::string name;  // "power [W]"
  uint64_t count = 0;
  double mean = 0, min = 0, max = 0, first = 0, last = 0;
  int64_t first_ns = 0, last_ns = 0;
};

struct GpuUse {
  std::string device;
  uint64_t interval_ns = 0;
  bool has_others = false;  // other processes used it: then there is no verdict
  std::vector<std::string> counters;
  GpuRow all;
  std::vector<GpuRow> kernels;             // the longest total first
  std::vector<GpuSensor> sensors;          // while a kernel ran
  std::map<uint64_t, uint64_t> throttled;  // readings while a kernel ran, by the reasons for a lower clock
  std::map<std::string, double> limits;    // "multiprocessors", "max SM clock [MHz]", …

  // The values of rows; negative: not sampled.
  double value(const GpuRow& row, std::string_view counter) const;
  double memory(const GpuRow& row) const;  // reads and writes, as a share of the peak in percent
  const GpuSensor* sensor(std::string_view name) const;
  double limit(const std::string& name) const;  // 0: not known
  // In the whole window, by the readings of the energy in it; negative: not counted, or for less than half of it.
  double joules(uint64_t window_ns) const;
  // Nothing if the device is not known, or the counters were not sampled.
  std::optional<Roofline> roofline(const GpuRow& row) const;

  // What stands out, in words. Each says the number of samples it rests on.
  std::vector<std::string> verdicts(const GpuRow& row) const;
  std::vector<std::string> verdicts() const;  // of clocks and errors
};

// One for each device with samples. What counts is inside of `window`. Reads nothing if there are no counters.
std::vector<GpuUse> gpu_use(EventWalk& walk, const DeviceWork& work, const Intervals& window);
std::vector<GpuUse> gpu_use(const trace::Reader& reader);  // of the whole trace

}  // namespace kymo::analyze
