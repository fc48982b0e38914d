// One command in a queue, from the call that enqueued it to its record in the trace.
//
//   enqueue() ──▶ Command ──▶ the driver's callback copies the times ──▶ Recorder::drain writes the span
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "inject/opencl/target.h"
#include "kymo/annotate.h"

namespace kymo::inject::opencl {

struct QueueState;

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

}  // namespace kymo::inject::opencl
