// Observers of every operation on every device: the profiler (src/devices/profiler), captures (src/devices/capture),
// and the profiler of one module (src/devices/edge). They are on higher layers, so they register here and the runtime
// calls them.
//
// While there is a watcher, the device times every operation, as it does while a trace is recorded. A watcher is called
// twice for each operation: when it is queued, and when it is known to have run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "device/backend.h"
#include "kymo/annotate.h"
#include "kymo/export.h"

namespace kymo::device {

class KernelArgument;
class Tensor;

// The description of one operation on a queue, for the trace and for watchers (watcher.h).
enum class OperationKind : uint8_t { Kernel, CopyHostToDevice, CopyDeviceToHost, CopyOnDevice, Fill };

// The part that stays valid after the call.
struct OperationFacts {
  OperationKind kind = OperationKind::Kernel;
  bool blocking = false;         // of a copy: the call returns when the copy is done
  std::string_view name;         // a kernel's; lives as long as the process does (keep_name)
  Site* site = nullptr;          // of its executions in the trace; lives as long as the process too
  const void* handle = nullptr;  // identifies the kernel: equal for the same kernel of the same library
  Extent threads, group;         // a kernel's
  size_t bytes = 0;              // copied or filled; of a kernel: the size of its tensors
};

struct Operation : OperationFacts {
  // Valid only during the call.
  std::span<const KernelArgument> arguments;    // a kernel's
  const Tensor *from = nullptr, *to = nullptr;  // of a copy or a fill; null: host memory
  const void* host = nullptr;                   // of a copy: the host memory
};

class StreamState;

// When an operation ran, on CLOCK_MONOTONIC, and what the host spent in the call that queued it.
struct OperationTimes {
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t gpu_ns = 0;      // measured with the device's clock only: no conversion error
  uint32_t operations = 1;  // of the submission; more than 1: gpu_ns is an equal part of its time
  uint64_t call_ns = 0;
};

// The position of a stream: "vulkan", 0, and its number on that device. The text lives as long as the process.
struct StreamPlace {
  std::string_view backend;
  int32_t device = 0;
  uint32_t stream = 0;
};
KYMO_API StreamPlace place_of(const StreamState& stream) noexcept;

class Watcher {
 public:
  virtual ~Watcher() = default;
  // Called on the thread that queues the operation, under the stream's lock, before it is queued. Must be short and
  // must not call devices. Returns the watcher's own number for this execution. `operation` and what it points to are
  // valid during this call only.
  virtual uint64_t queued(const StreamState& stream, const Operation& operation) noexcept = 0;
  // The operation ran. `operation` has its OperationFacts only, without arguments and tensors. Called on any thread,
  // under the stream's lock; for one stream in the order in which operations were queued.
  virtual void completed(const StreamState& stream, const Operation& operation, uint64_t execution,
                         const OperationTimes& times) noexcept = 0;
  // The same for an operation without times, or one that was not queued after all.
  virtual void lost(const StreamState& stream, const Operation& operation, uint64_t execution) noexcept = 0;
  // Wait for each operation before the next one?
  virtual bool waits() const noexcept { return false; }
  // Does the watcher need times of each operation, on a device that prefers to time many together?
  virtual bool wants_own_times() const noexcept { return false; }
};

enum class WatcherRole : uint8_t { Profiler, Capture, Edge };
inline constexpr size_t kWatcherRoles = 3;

// Null: no watcher. Can be set from any thread. A watcher is never destroyed, because a call to it may be running.
KYMO_API void set_watcher(WatcherRole role, Watcher* watcher);
Watcher* watcher(WatcherRole role) noexcept;
bool own_times_wanted() noexcept;  // true if one of the watchers wants them

// Waits, at most that long, until everything that is queued now on any device has run. Reports it to the watchers and
// the trace.
KYMO_API void report_completed(uint64_t wait_ns);

}  // namespace kymo::device
