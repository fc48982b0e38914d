#include "inject/opencl/enqueue.h"

#include <algorithm>

#include "inject/opencl/count.h"

namespace kymo::inject::opencl {

constinit Sites kCopyToDevice{Site(Label("copy host to device", "copy")), Site(Label("queue copy", "device"))},
    kCopyToHost{Site(Label("copy device to host", "copy")), Site(Label("queue copy", "device"))},
    kCopyOnDevice{Site(Label("copy on device", "copy")), Site(Label("queue copy", "device"))},
    kFill{Site(Label("fill", "fill")), Site(Label("queue fill", "device"))},
    kMap{Site(Label("map", "copy")), Site(Label("queue map", "device"))},
    kUnmap{Site(Label("unmap", "copy")), Site(Label("queue unmap", "device"))},
    kMigrate{Site(Label("migrate", "copy")), Site(Label("queue migration", "device"))},
    kMarker{Site(Label("marker", "sync")), Site(Label("queue marker", "device"))},
    kBarrier{Site(Label("barrier", "sync")), Site(Label("queue barrier", "device"))},
    kNativeKernel{Site(Label("native kernel", "kernel")), Site(Label("launch native kernel", "device"))},
    kCommandBuffer{Site(Label("command buffer", "kernel")), Site(Label("launch command buffer", "device"))};

namespace {

void read_times(Command& command, cl_event event) noexcept {
  const auto read = [event](cl_profiling_info what, uint64_t& time) {
    cl_ulong value = 0;
    if (target.clGetEventProfilingInfo(event, what, sizeof value, &value, nullptr) != CL_SUCCESS) return false;
    time = value;
    return true;
  };
  command.timed = read(CL_PROFILING_COMMAND_QUEUED, command.queued) &&
                  read(CL_PROFILING_COMMAND_SUBMIT, command.submitted) &&
                  read(CL_PROFILING_COMMAND_START, command.start) && read(CL_PROFILING_COMMAND_END, command.end);
}

// On a thread of the driver, or inside the call that enqueued the command. It only copies numbers: anything that waits
// here would stop the driver.
void CL_CALLBACK has_completed(cl_event event, cl_int status, void* data) {
  Command& command = *static_cast<Command*>(data);
  if (command.call_ticks != Command::kNotMeasured) command.seen = kymo_ticks();
  if (status == CL_COMPLETE) read_times(command, event);
  target.clReleaseEvent(event);
  recorder().complete(command);
}

// Reading the clock is a good part of what a command costs.
bool is_measured(const DeviceState& device, uint64_t correlation) noexcept {
  constexpr uint64_t kOneOf = 16;
  return device.needs_bounds.load(std::memory_order_relaxed) || correlation % kOneOf == 0;
}

// A call that takes longer than fits says nothing about the clock.
uint32_t ticks_since(uint64_t began) noexcept {
  return static_cast<uint32_t>(std::min<uint64_t>(kymo_ticks() - began, Command::kNotMeasured));
}

void record_call(const Operation& operation, uint64_t began, uint64_t correlation) noexcept {
  switch (operation.form) {
    case Operation::Form::Kernel: {
      const kymo_arg name = kymo::detail::to_arg(operation.name);
      kymo_span_at(operation.call, &name, 1, began, correlation);
      break;
    }
    case Operation::Form::Bytes: {
      const kymo_arg bytes = kymo::bytes("bytes", operation.bytes);
      kymo_span_at(operation.call, &bytes, 1, began, correlation);
      break;
    }
    case Operation::Form::Plain:
      kymo_span_at(operation.call, nullptr, 0, began, correlation);
  }
  count_event();
}

}  // namespace

void enqueued(QueueState& queue, const Operation& operation, uint64_t began, cl_event event, bool owned) noexcept {
  if (event == nullptr || !queue.has_profiling || target.clSetEventCallback == nullptr)
    return record_call(operation, began, 0);
  Recorder& one = recorder();
  const uint64_t correlation = kymo_next_correlation();
  const uint32_t call_ticks = is_measured(*queue.device, correlation) ? ticks_since(began) : Command::kNotMeasured;
  record_call(operation, began, correlation);
  Command* command = one.take();
  // The reference that the layer has is released by the callback.
  if (command == nullptr || (!owned && target.clRetainEvent(event) != CL_SUCCESS)) {
    if (command != nullptr) one.give_back(command);
    if (command == nullptr && owned) target.clReleaseEvent(event);
    return;
  }
  command->queue = &queue;
  command->describe(operation);
  command->correlation = correlation;
  command->began = began;
  command->call_ticks = call_ticks;
  command->recording = one.recording();
  const bool is_time = one.add_pending(queue);
  if (target.clSetEventCallback(event, CL_COMPLETE, has_completed, command) != CL_SUCCESS) {
    target.clReleaseEvent(event);
    one.complete(*command);  // without times: it is counted as lost
  }
  if (is_time) one.drain_if_free();
}

}  // namespace kymo::inject::opencl
