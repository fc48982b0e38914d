// How an execution is reported: as signposts to the sinks (kymo/sink.h), as a line on standard error, or not at all.
// What is reported at its end is decided at its begin, so that no end comes without a begin.
//
// The names of executions in log lines and in messages of signposts are made only if something reads them:
//
//   blur:opencl:0:f32[512, 512]:opencl:0:f32[9] (id=K2, run=7, gpu=0.123 ms, cpu=0.004 ms)
//   BlitCopySync: host:0x7f52c0000b20 --> opencl:0:f32[16] (len=64 B, gpu=0.002 ms)
//   Host Fallback::sort:opencl:0:f32[16] (id=1, run=1, CopyOverhead=64 B, cpu=0.052 ms)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "device/watcher.h"
#include "kymo/tensor.h"
#include "profiler/entries.h"

namespace kymo::profiler {

// What is wanted for each kind, in one word that is read with each operation.
enum class Subject : uint8_t { Operations, Copies, Fallbacks };

class Wanted {
 public:
  Wanted() = default;
  explicit Wanted(uint32_t bits) : bits_(bits) {}
  // From the masks of masks.h; `started` is the argument of start().
  static Wanted from(uint32_t signposts, uint32_t started, uint32_t log);

  uint32_t bits() const { return bits_; }
  bool intervals(Subject subject) const { return has(kIntervalsAt, subject); }
  bool events(Subject subject) const { return has(kEventsAt, subject); }
  bool lines(Subject subject) const { return has(kLinesAt, subject); }
  bool watches(Subject subject) const { return has(kWatchedAt, subject); }
  bool waits() const { return (bits_ & kWaitBit) != 0; }
  bool gpu_time() const { return (bits_ & kGpuTimeBit) != 0; }
  bool call_time() const { return (bits_ & kCallTimeBit) != 0; }
  bool buffers() const { return (bits_ & kBuffersBit) != 0; }
  // Must the devices be watched for it? Fallbacks run on the host.
  bool needs_devices() const { return watches(Subject::Operations) || watches(Subject::Copies) || waits(); }

 private:
  static constexpr unsigned kIntervalsAt = 0, kEventsAt = 3, kLinesAt = 6, kWatchedAt = 9;
  static constexpr uint32_t kWaitBit = 1 << 12, kGpuTimeBit = 1 << 13, kCallTimeBit = 1 << 14, kBuffersBit = 1 << 15;
  bool has(unsigned at, Subject subject) const { return (bits_ >> (at + static_cast<unsigned>(subject)) & 1) != 0; }

  uint32_t bits_ = 0;
};

// The part of it for one execution.
struct ReportOptions {
  bool interval = false, event = false;
  bool message = false;  // a sink reads texts
  bool line_at_begin = false, line_at_end = false, line_gpu = false, line_cpu = false;

  static ReportOptions of(Wanted wanted, Subject subject);
  bool has_text() const { return message || line_at_begin || line_at_end; }
  bool at_end() const { return interval || event || line_at_end; }
};

struct Execution {
  const Entry* entry = nullptr;
  uint64_t run = 0;
  uint64_t bytes = 0;    // of copies and fallbacks
  std::string_view key;  // if report.has_text()
};

struct ExecutionTimes {
  uint64_t start_ns = 0, end_ns = 0, gpu_ns = 0, cpu_ns = 0;
};

// Unique in this process: identifies a run of an entry.
constexpr uint64_t execution_number(uint32_t index, uint64_t run) { return run << 20 | index; }

void report_begin(const Execution& execution, const ReportOptions& report) noexcept;
// Without times the execution has ended, but the time is unknown: an interval still ends, an event is not sent.
void report_end(const Execution& execution, const ReportOptions& report, const ExecutionTimes* times) noexcept;

// ---- Names ----------------------------------------------------------------------------------------------------------

std::string size_text(uint64_t bytes);  // "64 B", "1.50 KiB", "3.00 GiB"

// "opencl:0:f32[4, 4]"; with its buffer "opencl:0(buf#7:2):f32[4, 4]": the number of the buffer, and how many tensors
// share it.
std::string tensor_text(const device::Tensor& tensor, bool with_buffer);

uint64_t bytes_of(std::span<const device::Tensor* const> tensors);  // null and undefined ones have none

// The part before the parentheses. `device` is where it runs.
std::string kernel_key(const device::Operation& operation, bool with_buffers);  // a fill's too
std::string copy_key(const device::Operation& operation, std::string_view device, bool with_buffers);
std::string scope_key(std::string_view name, std::span<const device::Tensor* const> tensors, bool with_buffers);

// With them. A time that is 0 is left out.
struct MessageTimes {
  uint64_t gpu_ns = 0, cpu_ns = 0;
};
std::string message_of(const Execution& execution, const MessageTimes& times);

}  // namespace kymo::profiler
