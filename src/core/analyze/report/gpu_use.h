// What GPUs did while they were busy: the sampled counters of a device, given to its kernels by time.
//
// A sample is the mean of a time. It belongs to a kernel if only this kernel ran in that time, any number of times and
// also with gaps: a kernel that is shorter than the interval has what its instances have together. Samples in which
// other kernels or a copy ran for more than a hundredth of the time belong to none. Shares of a peak are per time that
// the kernel ran, not per sample.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

// Counters of the default set, as sample/pm_sampling.cc and sample/gpu_sensors.cc call them.
inline constexpr std::string_view kActive = "multiprocessors active [%]", kWarps = "warps active [%]",
                                  kTensor = "tensor cores active [%]", kRead = "DRAM read [%]",
                                  kWritten = "DRAM written [%]", kInstructions = "instructions per cycle",
                                  kPower = "power [W]", kSmClock = "SM clock [MHz]";

// Of a kernel, or of a device as long as it works.
struct GpuRow {
  std::string name;
  uint64_t count = 0, total_ns = 0;  // of the kernel's instances
  uint64_t samples = 0;
  uint64_t covered_ns = 0, sampled_ns = 0;  // of the samples: in which it ran, and all
  std::vector<double> values;               // by GpuUse::counters; empty: not enough samples
  double registers = 0, threads = 0;        // for a thread; of a block: the largest. 0: not recorded
};

struct GpuSensor {
  std::string name;  // "power [W]"
  uint64_t count = 0;
  double mean = 0, min = 0, max = 0, first = 0, last = 0;
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
  double joules() const;  // from the first reading of the energy to the last; negative: not counted

  // What stands out, in words. Each says the number of samples it rests on.
  std::vector<std::string> verdicts(const GpuRow& row) const;
  std::vector<std::string> verdicts() const;  // of clocks
};

// One for each device with samples. What counts is inside of `window`. Reads nothing if there are no counters.
std::vector<GpuUse> gpu_use(EventWalk& walk, const DeviceWork& work, const Intervals& window);
std::vector<GpuUse> gpu_use(const trace::Reader& reader);  // of the whole trace

}  // namespace kymo::analyze
