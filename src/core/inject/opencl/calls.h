// What the layer's functions share.
#pragma once

#include "inject/opencl/layer.h"
#include "inject/opencl/recorder.h"
#include "kymo/queue.h"

namespace kymo::inject::opencl {

// The layer's functions. Each of these sets those of its file in `table`.
void add_queue_calls(cl_icd_dispatch& table);
void add_command_calls(cl_icd_dispatch& table);
void add_memory_calls(cl_icd_dispatch& table);
void add_extension_calls(cl_icd_dispatch& table);

// The sites of commands that are not kernels. Their names are those of Kymo's own device runtime where it has the same.
struct Sites {
  Site execution, call;
};
extern Sites kCopyToDevice, kCopyToHost, kCopyOnDevice, kFill, kMap, kUnmap, kMigrate, kMarker, kBarrier, kNativeKernel,
    kCommandBuffer;

inline Operation operation(Sites& sites) noexcept {
  Operation made;
  made.execution = &sites.execution;
  made.call = &sites.call;
  return made;
}
inline Operation operation(Sites& sites, uint64_t bytes) noexcept {
  Operation made = operation(sites);
  made.form = Operation::Form::Bytes;
  made.bytes = bytes;
  return made;
}

// The queue of a call that must be recorded; null: nothing records, or the queue is not one of ours.
inline QueueState* queue_to_record(cl_command_queue queue) noexcept {
  return kymo::detail::recording() ? recorder().objects().queue(queue) : nullptr;
}

// The call has enqueued a command. `event` is its event if the queue has profiling; `owned` says that the layer has to
// release it.
void enqueued(QueueState& queue, const Operation& operation, uint64_t began, cl_event event, bool owned) noexcept;

// What every function that enqueues a command does around the driver's own: gets an event for the command, records the
// call on its thread, and arranges that the command is recorded when it has completed.
//
//   return enqueue(queue, event, [&] { return operation(kFill, bytes); },
//                  [&](cl_event* wanted) { return target.clEnqueueFillBuffer(…, wanted); });
//
// While nothing records it only calls the driver. No lock is held during the call: the driver may report the completion
// from inside it, on the same thread. `describe` returns the Operation and is called only if it is needed, after the
// call. `call` gets where the driver puts the event.
template <class Describe, class Call>
cl_int enqueue(cl_command_queue handle, cl_event* callers_event, Describe describe, Call call) noexcept {
  QueueState* queue = queue_to_record(handle);
  if (__builtin_expect(queue == nullptr, 0)) return call(callers_event);
  cl_event own = nullptr;
  const bool owned = callers_event == nullptr && queue->has_profiling;
  const uint64_t began = kymo_ticks();
  const cl_int code = call(owned ? &own : callers_event);
  if (code != CL_SUCCESS) return code;
  cl_event event = owned ? own : callers_event != nullptr ? *callers_event : nullptr;
  enqueued(*queue, describe(), began, event, owned);
  return code;
}

// Memory of a device in the trace: a block with an address, such as shared virtual memory.
void record_allocated(cl_context context, const void* address, uint64_t bytes) noexcept;
void record_freed(const void* address) noexcept;

// Creates a queue with profiling by a function of the extension cl_khr_create_command_queue.
using CreateQueueFunction = clCreateCommandQueueWithPropertiesKHR_fn;
cl_command_queue create_queue_by_extension(CreateQueueFunction create, cl_context context, cl_device_id device,
                                           const cl_queue_properties* properties, cl_int* code) noexcept;

}  // namespace kymo::inject::opencl
