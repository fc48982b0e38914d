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
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "inject/opencl/layer.h"
#include "inject/opencl/objects.h"
#include "kymo/annotate.h"
#include "record/interfaces.h"
#include "record/slots.h"

namespace kymo::inject::opencl {

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

class Recorder {
 public:
  Recorder() noexcept;

  Objects& objects() noexcept { return objects_; }

  // The number of the recording: commands of an earlier one that complete late are not written.
  uint32_t recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

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

  // The program has released a queue: it can be closed. Starts no thread for it: the process may be exiting.
  void look_soon() noexcept;

  // The process exits: the driver may not be called from now on.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
  void open() noexcept { closed_.store(false, std::memory_order_relaxed); }
  bool is_closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

 private:
  enum class Pairs : uint8_t { IfDue, Now };

  void drain_or_lose() noexcept;
  void drain_locked(Pairs pairs);
  void write_off_pending();
  bool write(const Command& command) noexcept;  // false: it was not recorded
  void write_pairs(const std::vector<QueueState*>& queues, uint64_t now, Pairs pairs);
  bool has_pending() const;
  void wake() noexcept;
  void start_thread() noexcept;
  void run() noexcept;

  Objects objects_;
  std::atomic<uint32_t> recording_{1};
  std::atomic<bool> closed_{false};

  std::atomic<Command*> completed_{nullptr};
  std::mutex unused_mutex_;
  Command* unused_ = nullptr;

  std::mutex drain_mutex_;        // held while the queues' tracks are used
  const base::ClockPair opened_;  // the host's clock before the first command

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> awake_{false};
  bool started_ = false;
};

// The recorder of this process. A forked child gets a new one with its first use: the parent's devices stay with the
// parent. It is never destroyed.
Recorder& recorder() noexcept;

}  // namespace kymo::inject::opencl
