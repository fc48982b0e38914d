// The work of devices, watched: signposts for other tools, true times of each operation, statistics, capture.
//
//   kymo::profiler::Profile watch("interval");        // or start(…) and stop()
//   lib["blur"](image);
//   kymo::profiler::print_statistics();               // what ran how often and how long
//
//   kymo::profiler::Capture capture("frame");         // 0000-frame.kycap: every call with its data, for `kymo replay`
//
// Signposts go to Kymo's trace while something records, and to the sinks of kymo/sink.h that are on. Without a line of
// code: KYMO_SIGNPOSTS=operations,copies and KYMO_PROFILE_LOG=statistics (docs/profiler.md has all words and numbers).
//
// All of it from any thread at any time.
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

// Watches the work of all devices. `mode` is "interval" (begin and end of each execution), "event" (a point when it has
// completed), or both, separated by a comma; case and blanks do not matter. With `wait_until_completed` each operation
// is waited for before the next is queued: slower, and each has a submission of its own. Without, times are true per
// operation all the same: the device takes them.
//
// Throws, before anything changes: InvalidArgument for an unknown word or an empty mode; Error where it runs already,
// which leaves that alone.
KYMO_API void start(std::string_view mode = "interval", bool wait_until_completed = false);
// What was queued before is still told. Never fails; does nothing where nothing was started.
KYMO_API void stop() noexcept;
KYMO_API bool is_running() noexcept;

// start() to the end of the scope. Where start() throws, the one that runs goes on.
class [[nodiscard]] Profile {
 public:
  explicit Profile(std::string_view mode = "interval", bool wait_until_completed = false) {
    start(mode, wait_until_completed);
  }
  ~Profile() { stop(); }
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
};

// KYMO_SIGNPOSTS and KYMO_PROFILE_LOG, from code: by numbers or by words (docs/profiler.md). "" and "0" are nothing.
// Throws InvalidArgument, with the words there are, before anything changes.
KYMO_API void set_signposts(std::string_view mask);
KYMO_API void set_log(std::string_view mask);

// ---- What an operation is ------------------------------------------------------------------------------------------

// Kernels and copies are seen by themselves. An operation that is made of several (a convolution, say) can be given a
// name: its time is from the first to the last of what this thread queues in the scope, on one stream. `flops` is its
// arithmetic, where it is known: then statistics and replays say how fast it was.
class KYMO_API Operation {
 public:
  [[nodiscard]] explicit Operation(std::string_view name, std::initializer_list<const device::Tensor*> tensors = {},
                                   double flops = 0);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  uint64_t id_ = 0;  // 0: nothing watches
};

// Work of the host in the place of the device's: from here to the end of the scope. The bytes of the tensors count as
// what had to be copied for it.
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

// Since the process began or reset_statistics(), while watched (start(), or a log mask with statistics).
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
  uint64_t lost = 0;  // executions whose times could not be had
};
KYMO_API Statistics statistics();        // of what is known to have run: waits for what was queued
KYMO_API std::string statistics_text();  // the tables
KYMO_API void print_statistics();        // on standard error
KYMO_API void reset_statistics();

// ---- Capture -------------------------------------------------------------------------------------------------------

// May this process capture? KYMO_CAPTURE_ENABLED=1 says so, or MTL_CAPTURE_ENABLED=1.
KYMO_API bool is_capture_enabled() noexcept;
KYMO_API bool is_capturing() noexcept;

// From here on every call to every device goes into the folder NNNN-name.kycap in the current directory; NNNN counts
// the attempts of this process from 0000. Throws Error, naming the folder and the reason: not enabled, exists already,
// one is being made, no room.
KYMO_API void start_capture(std::string_view name);
// Waits for all devices, writes the results and completes the folder. Throws what went wrong on the way (a full disk:
// the program went on without). Always ends the capture. Does nothing where there is none.
KYMO_API void stop_capture();

class KYMO_API Capture {
 public:
  [[nodiscard]] explicit Capture(std::string_view name) { start_capture(name); }
  ~Capture();    // close(), silently
  void close();  // stop_capture(), once
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  bool open_ = true;
};

// The names that torch.mps.profiler has.
using profile = Profile;
using metal_capture = Capture;
inline bool is_metal_capture_enabled() noexcept { return is_capture_enabled(); }
inline bool is_capturing_metal() noexcept { return is_capturing(); }

}  // namespace kymo::profiler
