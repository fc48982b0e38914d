// What every function that enqueues a command does around the driver's own: gets an event for the command, records the
// call on its thread, and arranges that the command is recorded when it has completed.
//
//   return enqueue(queue, event, [&] { return operation(kFill, bytes); },
//                  [&](cl_event* wanted) { return target.clEnqueueFillBuffer(…, wanted); });
//
// While nothing records it only calls the driver. No lock is held during the call: the driver may report the completion
// from inside it, on the same thread.
#pragma once

#include "inject/opencl/recorder.h"
#include "kymo/queue.h"

namespace kymo::inject::opencl {

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

// `describe` returns the Operation and is called only if it is needed, after the call. `call` gets where the driver
// puts the event.
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

// The same for a function that returns an address, and its result in *code.
template <class Describe, class Call>
void* enqueue_map(cl_command_queue handle, cl_event* callers_event, cl_int* callers_code, Describe describe,
                  Call call) noexcept {
  void* address = nullptr;
  const cl_int code = enqueue(handle, callers_event, describe, [&](cl_event* wanted) {
    cl_int result = CL_SUCCESS;
    address = call(wanted, &result);
    return result;
  });
  if (callers_code != nullptr) *callers_code = code;
  return address;
}

// The bytes of a region of `element` bytes each. 0 if the caller gave none; the driver refuses that.
inline uint64_t region_bytes(const size_t* region, uint64_t element = 1) noexcept {
  return region == nullptr ? 0 : uint64_t{region[0]} * region[1] * region[2] * element;
}

}  // namespace kymo::inject::opencl
