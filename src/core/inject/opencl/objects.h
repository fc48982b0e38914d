// What the layer knows about the devices, queues, kernels and contexts of the program.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "inject/adapter.h"
#include "inject/device_clock.h"
#include "inject/handle_table.h"
#include "inject/opencl/layer.h"
#include "kymo/annotate.h"
#include "kymo/queue_track.h"

namespace kymo::inject::opencl {

struct DeviceState {
  cl_device_id id = nullptr;
  cl_platform_id platform = nullptr;
  std::string name, uuid;
  bool is_cpu = false;
  uint64_t number = 0;                   // in the order in which the program used them
  std::atomic<bool> needs_bounds{true};  // every command is measured for the clock; otherwise some are

  // Only for Recorder::drain.
  DeviceClock clock;
  bool has_timer = true;          // clGetDeviceAndHostTimer worked so far
  uint64_t first_command_ns = 0;  // when the commands since the last pair began to arrive
  base::ClockPair last_pair;      // error_ns is 0: none yet
};

struct QueueState {
  DeviceState* device = nullptr;
  QueueTrack track;
  bool has_profiling = false;                   // its commands have times
  std::atomic<bool> is_forced{false};           // the layer turned profiling on; the program does not know
  std::vector<cl_queue_properties> properties;  // as the program gave them, if it gave a list
  std::atomic<uint32_t> references{1};          // the program's own
  std::atomic<bool> released{false};            // by the program. Commands may be pending
  std::atomic<uint64_t> enqueued{0};

  // Only for Recorder::drain.
  uint64_t settled = 0;      // of those that were enqueued
  uint64_t written_off = 0;  // pending, and counted as lost when a recording ended
  bool has_pair = false;     // the track has a pair of its clock
};

struct KernelState {
  std::string name;        // the program's
  std::string event_name;  // of its executions
  Site site;
  explicit KernelState(std::string_view text)
      : name(text), event_name(plain_name(text)), site(Label(event_name, "kernel")) {}
};

// A block of memory that has an address on the host, such as shared virtual memory.
struct SharedBlock {
  const DeviceState* device = nullptr;
  uint64_t bytes = 0;
};

class Objects {
 public:
  // The first three ask the driver about an object that is new. They throw std::bad_alloc.
  DeviceState* device(cl_device_id id);
  // Of the first device in the context; null: the context is excluded, or has none.
  DeviceState* device_of(cl_context context);
  KernelState* kernel(cl_kernel handle);

  void add_kernel(cl_kernel handle, std::string_view name);

  void add_queue(cl_command_queue handle, std::unique_ptr<QueueState> state);
  QueueState* queue(cl_command_queue handle) const noexcept { return queues_.find(handle); }
  // The program released its last reference.
  void release_queue(cl_command_queue handle) noexcept;
  // All queues, also those that the program has released. Only for Recorder::drain, which removes them.
  std::vector<QueueState*> all_queues() const;
  void remove(QueueState* queue) noexcept;

  void add_context(cl_context context);
  // The work and the memory of an excluded context is not recorded.
  void exclude(cl_context context);
  bool is_excluded(cl_context context) const noexcept { return excluded_.find(context) != nullptr; }

  HandleTable<SharedBlock>& shared_memory() noexcept { return shared_memory_; }

 private:
  mutable std::mutex mutex_;  // for the owners below
  std::map<cl_device_id, std::unique_ptr<DeviceState>> devices_;
  std::map<std::string, std::unique_ptr<KernelState>, std::less<>> names_;
  std::vector<std::unique_ptr<QueueState>> owned_queues_;
  std::map<cl_context, uint64_t> contexts_;  // their numbers
  uint64_t queue_count_ = 0, context_count_ = 0;
  HandleTable<QueueState> queues_;
  HandleTable<KernelState> kernels_;
  HandleTable<Objects> excluded_;
  HandleTable<SharedBlock> shared_memory_;  // by address; who removes one deletes it
};

}  // namespace kymo::inject::opencl
