// Observers of every operation on every device: the profiler (src/profiler), captures (src/capture), and the profiler
// of one module (src/edge). They are on higher layers, so they register here and the runtime calls them.
//
// While there is a watcher, the device times every operation, as it does while a trace is recorded. A watcher is called
// twice for each operation: when it is queued, and when it is known to have run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/operation.h"
#include "kymo/export.h"

namespace kymo::device {

class StreamState;

// When an operation ran, on CLOCK_MONOTONIC, and what the host spent in the call that queued it.
struct OperationTimes {
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t gpu_ns = 0;  // by the device's clock alone: no error of conversion in it
  uint32_t shared = 1;  // operations that had this time together: then gpu_ns is one's part of it
  uint64_t call_ns = 0;
};

// Where a stream is: "vulkan", 0, and its number on that device. The text lives as long as the process does.
struct StreamPlace {
  std::string_view backend;
  int32_t device = 0;
  uint32_t stream = 0;
};
KYMO_API StreamPlace place_of(const StreamState& stream) noexcept;

class Watcher {
 public:
  virtual ~Watcher() = default;
  // On the thread that queues it, under the stream's lock, before it is queued: short, no calls to devices. Returns a
  // number of its own for this execution. What `operation` points to lives as long as this call.
  virtual uint64_t queued(const StreamState& stream, const Operation& operation) noexcept = 0;
  // It ran; `operation` without what it pointed to but its name. On any thread, under the stream's lock. Of one stream
  // in the order they were queued.
  virtual void completed(const StreamState& stream, const Operation& operation, uint64_t execution,
                         const OperationTimes& times) noexcept = 0;
  // The same for one whose times cannot be had, or that was not queued after all.
  virtual void lost(const StreamState& stream, const Operation& operation, uint64_t execution) noexcept = 0;
  // Must each operation be waited for before the next?
  virtual bool waits() const noexcept { return false; }
  // Must each operation have times of its own, where the device would rather time many together?
  virtual bool wants_own_times() const noexcept { return false; }
};

enum class WatcherRole : uint8_t { Profiler, Capture, Edge };
inline constexpr size_t kWatcherRoles = 3;

// Null: nobody. Set from any thread; a watcher is never destroyed, because a call to it may be under way.
KYMO_API void set_watcher(WatcherRole role, Watcher* watcher);
Watcher* watcher(WatcherRole role) noexcept;
bool own_times_wanted() noexcept;  // by one of them

// Waits for everything that was queued by now on any device to run, at most that long, and tells the watchers (and the
// trace) of it.
KYMO_API void tell_what_ran(uint64_t wait_ns);

}  // namespace kymo::device
