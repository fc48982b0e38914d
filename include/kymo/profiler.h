// Observes the work of devices: signposts for other tools, exact times of each operation, statistics, capture.
//
//   kymo::profiler::Profile watch("interval");        // or start(…) and stop()
//   lib["blur"](image);
//   kymo::profiler::print_statistics();               // what ran, how often, how long
//
//   kymo::profiler::Capture capture("frame");         // 0000-frame.kycap: every call with its data, for `kymo replay`
//
// Signposts go to the active sinks of kymo/sink.h. Kymo's own trace needs none: it has the begin and the end of every
// operation, with the device's times, whatever the mode. Without any code:
// KYMO_SIGNPOSTS=operations,copies and KYMO_PROFILE_LOG=statistics (docs/profiler.md has all words and numbers).
//
// Any thread may call these functions at any time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"
#include "kymo/export.h"
#include "kymo/tensor.h"

namespace kymo::profiler {

// ---- Signposts -----------------------------------------------------------------------------------------------------

// Observes the work of all devices. `mode` is "interval" (begin and end of each execution), "event" (one point when it
// has completed), or both, separated by a comma. Case and blanks are ignored. With `wait_until_completed`, each
// operation completes before the next one is queued: this is slower, and each operation has its own submission. The
// times of each operation are exact in both cases, because the device takes them.
//
// If it throws, it has changed nothing. InvalidArgument: an unknown word, or an empty mode. Error: it runs already, and
// continues to run.
KYMO_API void start(std::string_view mode = "interval", bool wait_until_completed = false);
// Work that was queued before is still reported. Never fails. Does nothing if nothing was started.
KYMO_API void stop() noexcept;
KYMO_API bool is_running() noexcept;

// start() until the end of the scope. If start() throws because a profile runs, that profile continues.
class [[nodiscard]] Profile {
 public:
  explicit Profile(std::string_view mode = "interval", bool wait_until_completed = false) {
    start(mode, wait_until_completed);
  }
  ~Profile() { stop(); }
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
};

// KYMO_SIGNPOSTS and KYMO_PROFILE_LOG from code, as numbers or as words (docs/profiler.md). "" and "0" mean nothing.
// Throws InvalidArgument with the list of valid words, and changes nothing then.
KYMO_API void set_signposts(std::string_view mask);
KYMO_API void set_log(std::string_view mask);

// ---- Operations ----------------------------------------------------------------------------------------------------

// Kernels and copies are observed automatically. Use this class to name an operation that consists of several, for
// example a convolution. Its time is from the first to the last work that this thread queues in the scope, on one
// stream. `flops` is the number of its arithmetic operations, if known: then statistics and replays show its speed.
class KYMO_API Operation {
 public:
  [[nodiscard]] explicit Operation(std::string_view name, std::initializer_list<const device::Tensor*> tensors = {},
                                   double flops = 0);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  uint64_t id_ = 0;  // 0: nothing is observed
};

// Work that the host does instead of the device, from here to the end of the scope. The bytes of the tensors count as
// bytes that had to be copied for it.
class KYMO_API HostFallback {
 public:
  [[nodiscard]] explicit HostFallback(std::string_view name, std::initializer_list<const device::Tensor*> tensors = {});
  ~HostFallback();
  HostFallback(const HostFallback&) = delete;
  HostFallback& operator=(const HostFallback&) = delete;

 private:
  uint64_t id_ = 0, began_ns_ = 0;
};

// ---- Statistics ----------------------------------------------------------------------------------------------------

// Counted since the process began or reset_statistics(), while observed (start(), or a log mask with statistics).
struct OperationStatistics {
  std::string id, name;  // "K3", "blur:opencl:0:f32[512, 512]"
  uint64_t runs = 0;
  double total_gpu_ms = 0, total_call_ms = 0;  // on the device; on the host, in the call that queued it
  double flops = 0;                            // of all runs
};
struct CopyStatistics {
  std::string kind;  // "host to device"
  uint64_t count = 0, bytes = 0, scalars = 0, blocking = 0, host_copies = 0;
  double gpu_ms = 0, call_ms = 0, scalar_gpu_ms = 0;
};
struct FallbackStatistics {
  std::string id, name;
  uint64_t runs = 0, copy_bytes = 0;
  double total_cpu_ms = 0;
};
struct Statistics {
  std::vector<OperationStatistics> operations;  // longest mean first
  std::vector<CopyStatistics> copies;
  std::vector<FallbackStatistics> fallbacks;
  uint64_t lost = 0;  // executions whose times are not available
};
KYMO_API Statistics statistics();        // of completed work: waits for everything that is queued
KYMO_API std::string statistics_text();  // the tables
KYMO_API void print_statistics();        // to standard error
KYMO_API void reset_statistics();

// ---- Capture -------------------------------------------------------------------------------------------------------

// True if this process may capture: KYMO_CAPTURE_ENABLED=1 or MTL_CAPTURE_ENABLED=1.
KYMO_API bool is_capture_enabled() noexcept;
KYMO_API bool is_capturing() noexcept;

// Starts to write every call to every device into a new folder NNNN-name.kycap in the current directory. NNNN counts
// the attempts of this process from 0000, and skips numbers whose folder exists: captures are never replaced. Throws
// Error with the folder and the reason: not enabled, another capture is active, no space.
KYMO_API void start_capture(std::string_view name);
// The name of the folder of this capture or of the last one: "0000-frame.kycap". Empty if there was none.
KYMO_API std::string capture_folder();
// Waits for all devices, writes the results and completes the folder. Throws if something failed, also during the
// capture (for example a full disk; the program continued without capture then). Always ends the capture. Does nothing
// if there is no capture.
KYMO_API void stop_capture();

class KYMO_API Capture {
 public:
  [[nodiscard]] explicit Capture(std::string_view name) { start_capture(name); }
  ~Capture();    // close(), but ignores errors
  void close();  // stop_capture(), once
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  bool open_ = true;
};

// The same with the names of torch.mps.profiler.
using profile = Profile;
using metal_capture = Capture;
inline bool is_metal_capture_enabled() noexcept { return is_capture_enabled(); }
inline bool is_capturing_metal() noexcept { return is_capturing(); }

}  // namespace kymo::profiler
