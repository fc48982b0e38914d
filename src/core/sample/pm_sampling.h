// The hardware counters of one GPU, sampled by CUPTI's PM sampling.
//
// The GPU reads its counters at a fixed interval and writes them into a buffer, which the owner of this object decodes.
// It needs no context, and sees the work of all processes on the device. CUPTI must be of CUDA 12.6 or later. It is the
// library that the recorded program has loaded; it is never linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::sample {

// What CUPTI measures, and how the trace calls it.
struct GpuCounter {
  std::string metric;  // "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
  std::string name;    // "multiprocessors active [%]"
};

// The counters of a chip in one pass, chosen by asking CUPTI: of `wanted`, those that it accepts together. A name
// without a dot is tried as a share of its peak, and then as a sum. Empty `wanted`: the default set. `refused` gets the
// names that are left out. Needs no GPU.
class CounterSet {
 public:
  // Throws kymo::NotAvailable if the library cannot do this, or knows no such chip.
  CounterSet(void* cupti, std::string_view chip, const std::vector<uint8_t>& availability,
             const std::vector<std::string>& wanted);
  ~CounterSet();
  CounterSet(const CounterSet&) = delete;
  CounterSet& operator=(const CounterSet&) = delete;

  const std::vector<GpuCounter>& counters() const { return counters_; }
  const std::vector<std::string>& refused() const { return refused_; }
  const std::vector<uint8_t>& config() const { return config_; }
  // The values of a sample, in the order of counters().
  void evaluate(const std::vector<uint8_t>& image, size_t sample, std::vector<double>& values) const;

 private:
  bool accepts(const std::vector<GpuCounter>& together);

  void* cupti_;
  std::string chip_;
  const std::vector<uint8_t>& availability_;
  void* host_ = nullptr;
  std::vector<GpuCounter> counters_;
  std::vector<std::string> refused_;
  std::vector<uint8_t> config_;
};

// How often the owner should read.
inline constexpr uint64_t kGpuReadsMs = 50;

class PmSampling {
 public:
  // Starts. `device` is CUDA's number. Throws kymo::NotAvailable, with a message that says what to do: the rights are
  // missing, another tool has the counters, …
  PmSampling(void* cupti, size_t device, uint64_t interval_ns, const std::vector<std::string>& wanted);
  ~PmSampling();  // stops

  const CounterSet& set() const { return *set_; }

  // Calls `visit` for each sample since the last call, in order of time. Times are the GPU's. False: the buffer was
  // full, and samples are missing.
  using Visit = std::function<void(uint64_t begin, uint64_t end, const std::vector<double>& values)>;
  bool read(const Visit& visit);
  // No samples after this. What there is can still be read.
  void stop();

 private:
  void reset_image();
  void disable();

  void* cupti_;
  std::vector<uint8_t> availability_, image_;
  std::unique_ptr<CounterSet> set_;
  void* object_ = nullptr;
  bool is_running_ = false, has_first_ = false;
};

}  // namespace kymo::sample
