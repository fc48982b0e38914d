// Kernels: their names, and the commands that run them; markers and barriers.
#include <new>

#include "inject/opencl/enqueue.h"

namespace kymo::inject::opencl {
namespace {

constexpr cl_uint kMaxDimensions = 3;
constexpr cl_uint kMaxKernels = 1 << 16;  // of one program

constinit Site launch_site(Label("launch {}", "device"));

void know(cl_kernel kernel, const char* name) noexcept {
  try {
    if (kernel != nullptr && name != nullptr) recorder().objects().add_kernel(kernel, name);
  } catch (const std::bad_alloc&) {  // it is asked for its name when it is launched
  }
}

// Asks the driver for the name.
KernelState* know(cl_kernel kernel) noexcept {
  try {
    return recorder().objects().kernel(kernel);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) noexcept {
  cl_kernel made = target.clCreateKernel(program, name, code);
  know(made, name);
  return made;
}

cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel* kernels, cl_uint* returned) noexcept {
  cl_uint made = 0;
  const cl_int code = target.clCreateKernelsInProgram(program, count, kernels, &made);
  if (returned != nullptr) *returned = made;
  if (code != CL_SUCCESS || kernels == nullptr || made > count || made > kMaxKernels) return code;
  for (cl_uint i = 0; i < made; ++i) {
    char name[512] = {};
    if (target.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, nullptr) == CL_SUCCESS)
      know(kernels[i], name);
  }
  return code;
}

cl_kernel CL_API_CALL clone_kernel(cl_kernel source, cl_int* code) noexcept {
  cl_kernel made = target.clCloneKernel(source, code);
  if (const KernelState* state = made != nullptr ? know(source) : nullptr) know(made, state->name.c_str());
  return made;
}

Operation launch_of(cl_kernel kernel, cl_uint dimensions, const size_t* threads, const size_t* group) noexcept {
  Operation made = operation(kNativeKernel);
  made.form = Operation::Form::Kernel;
  made.call = &launch_site;
  made.name = "kernel";
  if (KernelState* state = know(kernel)) {
    made.execution = &state->site;
    made.name = state->name;
  }
  for (cl_uint i = 0; i < kMaxDimensions; ++i) {
    made.threads[i] = threads != nullptr ? (i < dimensions ? threads[i] : 1) : 0;
    made.group[i] = group != nullptr ? (i < dimensions ? group[i] : 1) : 0;
  }
  return made;
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                  const size_t* threads, const size_t* group, cl_uint wait_count, const cl_event* waits,
                                  cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return launch_of(kernel, dimensions, threads, group); },
      [&](cl_event* wanted) {
        return target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, threads, group, wait_count, waits,
                                             wanted);
      });
}

cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event* waits,
                                cl_event* event) noexcept {
  constexpr size_t kOne = 1;
  return enqueue(
      queue, event, [&] { return launch_of(kernel, 1, &kOne, &kOne); },
      [&](cl_event* wanted) { return target.clEnqueueTask(queue, kernel, wait_count, waits, wanted); });
}

cl_int CL_API_CALL enqueue_native_kernel(cl_command_queue queue, void(CL_CALLBACK* function)(void*), void* args,
                                         size_t args_bytes, cl_uint memory_count, const cl_mem* memory,
                                         const void** places, cl_uint wait_count, const cl_event* waits,
                                         cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kNativeKernel); },
      [&](cl_event* wanted) {
        return target.clEnqueueNativeKernel(queue, function, args, args_bytes, memory_count, memory, places, wait_count,
                                            waits, wanted);
      });
}

cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_event* event) noexcept {
  // Its event is its result: the driver refuses a marker without one.
  if (event == nullptr) return target.clEnqueueMarker(queue, event);
  return enqueue(
      queue, event, [&] { return operation(kMarker); },
      [&](cl_event* wanted) { return target.clEnqueueMarker(queue, wanted); });
}

cl_int CL_API_CALL enqueue_marker_with_waits(cl_command_queue queue, cl_uint wait_count, const cl_event* waits,
                                             cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kMarker); },
      [&](cl_event* wanted) { return target.clEnqueueMarkerWithWaitList(queue, wait_count, waits, wanted); });
}

cl_int CL_API_CALL enqueue_barrier_with_waits(cl_command_queue queue, cl_uint wait_count, const cl_event* waits,
                                              cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kBarrier); },
      [&](cl_event* wanted) { return target.clEnqueueBarrierWithWaitList(queue, wait_count, waits, wanted); });
}

}  // namespace

void add_kernel_calls(cl_icd_dispatch& table) {
  table.clCreateKernel = create_kernel;
  table.clCreateKernelsInProgram = create_kernels;
  table.clCloneKernel = clone_kernel;
  table.clEnqueueNDRangeKernel = enqueue_kernel;
  table.clEnqueueTask = enqueue_task;
  table.clEnqueueNativeKernel = enqueue_native_kernel;
  table.clEnqueueMarker = enqueue_marker;
  table.clEnqueueMarkerWithWaitList = enqueue_marker_with_waits;
  table.clEnqueueBarrierWithWaitList = enqueue_barrier_with_waits;
}

}  // namespace kymo::inject::opencl
