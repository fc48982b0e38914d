// The counters of GPUs beside the kernels of a recorded program: PM sampling (pm_sampling.h) and sensors
// (sensors/gpu_sensors.h), from the process of the recorder.
//
// Nothing is loaded and no GPU is touched until a recorded program uses CUDA. Each device is a writer of the trace with
// two tracks: the samples, on the GPU's clock, and the sensors. Every value is a counter event, which holds until the
// next one of its track. docs/gpu-counters.md describes the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sample/outbox.h"

namespace kymo::sample {

struct GpuCounterOptions {
  uint64_t hertz = 1000;                // 0: only sensors
  std::vector<std::string> names = {};  // of CUPTI; empty: a default set
  std::string session = {};             // of the recording
  uint32_t pid = 0;                     // instead: of a program that may begin to use CUDA's tools; 0: none
};

class GpuCounters {
 public:
  // Starts a thread, which waits for a program that uses CUDA. Throws kymo::NotAvailable if the system has no thread
  // left.
  explicit GpuCounters(GpuCounterOptions options);
  ~GpuCounters();  // stops

  // A recorded program that uses CUDA; 0: none so far. Until then the thread does nothing.
  void set_user(uint32_t pid) { user_.store(pid, std::memory_order_release); }

  // For the thread that owns the file, as of a collect::Companion.
  void write(trace::Writer& file) { outbox_.write(file); }
  void end_file(trace::Writer& file);

  // Reads the rest. write() is needed after it. Returns what the user should know: why there are no counters, or not
  // all of them. One line, or empty. `was_asked`: the user asked for them, so it also says that nothing used CUDA.
  std::string finish(bool was_asked);

 private:
  struct Device;
  void run();
  void begin();
  void read(bool is_last);

  GpuCounterOptions options_;
  Outbox outbox_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> user_{0};
  std::mutex mutex_;  // protects the following members
  std::vector<std::unique_ptr<Device>> devices_;
  std::string problem_;
  std::thread thread_;
};

}  // namespace kymo::sample
