// Writes the commands of all queues into the trace when they have completed.
//
//   enqueue() ──▶ Command ──▶ the driver's callback copies the times ──▶ Recorder::drain writes the span
//
// Threads of the program and of the driver only pass commands on; neither waits for the other, and no lock is held
// while the driver is called. Every 256th command of a queue writes those that have completed. One thread of the layer
// looks for others a hundred times per second, while some are pending, and the end of a session does. It waits for
// nothing: a command whose user event is never set stays pending, and is counted as lost at the end of the session.
#pragma once

#include <array>
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
#include "inject/layer_recorder.h"
#include "inject/opencl/layer.h"
#include "kymo/annotate.h"
#include "kymo/queue_track.h"
#include "record/interfaces.h"
#include "record/slots.h"

namespace kymo::inject::opencl {

// What the layer knows about the devices, queues, kernels and contexts of the program.

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

// What a command does, and the sites that record it.
struct Operation {
  enum class Form : uint8_t { Kernel, Bytes, Plain };  // the arguments that it has in the trace

  Form form = Form::Plain;
  Site* execution = nullptr;  // on the queue
  Site* call = nullptr;       // on the thread that enqueued it
  std::string_view name;      // of a kernel; lives as long as the process
  uint64_t bytes = 0;
  std::array<uint64_t, 3> threads{}, group{};  // of a kernel; a group of 0: the driver chooses it
};

// One command in a queue, from the call that enqueued it to its record in the trace.
//
// Three threads use it one after the other: the program's, the driver's and the layer's. So it is two cache lines,
// which no other command shares.
struct alignas(64) Command {
  static constexpr uint32_t kNotMeasured = UINT32_MAX;

  Command* next = nullptr;  // in the list of completed ones, or of unused ones
  QueueState* queue = nullptr;
  Site* site = nullptr;             // of the execution
  std::array<uint64_t, 3> sizes{};  // of a kernel: its threads; otherwise bytes
  std::array<uint32_t, 3> group{};  // devices allow some thousand
  Operation::Form form = Operation::Form::Plain;
  bool timed = false;  // set when it has completed. False: it failed, or has no times

  uint32_t recording = 0;              // Recorder::recording() at the call
  uint32_t call_ticks = kNotMeasured;  // how long the call took
  uint64_t began = 0;                  // the call, in ticks of the host
  uint64_t correlation = 0;
  // Set when it has completed.
  uint64_t seen = 0;                                       // in ticks of the host, if the call was measured
  uint64_t queued = 0, submitted = 0, start = 0, end = 0;  // of the device, in nanoseconds

  void describe(const Operation& operation) noexcept {
    site = operation.execution;
    form = operation.form;
    timed = false;
    if (form != Operation::Form::Kernel) {
      sizes[0] = operation.bytes;
      return;
    }
    for (size_t i = 0; i < 3; ++i) {
      sizes[i] = operation.threads[i];
      group[i] = static_cast<uint32_t>(operation.group[i]);
    }
  }
};
static_assert(sizeof(Command) == 128);

// Counts what the layer recorded on the calling thread, for `kymo info`.
inline void count_event() noexcept {
  if (record::Slot* slot = record::this_slot) record::count_delivered(*slot, record::Interface::OpenCl);
}

class Recorder : public LayerRecorder<Recorder> {
 public:
  static constexpr record::Interface kInterface = record::Interface::OpenCl;
  static constexpr const char* kThreadName = "kymo-opencl";

  Recorder() noexcept;

  Objects& objects() noexcept { return objects_; }

  // An unused command, or null if there is no memory.
  Command* take() noexcept;
  void give_back(Command* command) noexcept;

  // The command is in the driver's queue. Call it before the driver can report its completion. True: it is time for
  // drain_if_free.
  bool add_pending(QueueState& queue) noexcept;
  // It has completed. For any thread, also inside the driver: takes no lock.
  void complete(Command& command) noexcept;

  // Writes all completed commands.
  void drain() noexcept;
  // The same, on a thread of the program, unless another thread does so now. The commands are still in the cache then;
  // the layer's own thread would find some thousand of them, of which none is.
  void drain_if_free() noexcept;
  // Waits for pending commands as long as some complete, with a pause of at most `quiet_ns`. The others are lost.
  void flush(uint64_t quiet_ns) noexcept;

  // The program has released a queue: it can be closed.
  void look_soon() noexcept { wake_if_started(); }

 private:
  friend class LayerRecorder<Recorder>;
  enum class Pairs : uint8_t { IfDue, Now };

  void look() noexcept;
  void drain_locked(Pairs pairs);
  void write_off_pending();
  bool write(const Command& command) noexcept;  // false: it was not recorded
  void write_pairs(const std::vector<QueueState*>& queues, uint64_t now, Pairs pairs);
  bool has_pending() const;

  Objects objects_;

  std::atomic<Command*> completed_{nullptr};
  std::mutex unused_mutex_;
  Command* unused_ = nullptr;

  const base::ClockPair opened_;  // the host's clock before the first command
};

inline Recorder& recorder() noexcept { return Recorder::of_process(); }

}  // namespace kymo::inject::opencl
