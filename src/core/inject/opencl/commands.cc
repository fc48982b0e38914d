// Commands in queues: kernels, copies and others. The layer replaces each function that enqueues one.
#include <algorithm>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "inject/opencl/calls.h"
#include "inject/opencl/recorder.h"

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

namespace {

// ---- Kernels -------------------------------------------------------------------------------------------------------

constexpr cl_uint kMaxDimensions = 3;
constexpr cl_uint kMaxKernels = 1 << 16;  // of one program
constexpr cl_uint kMaxObjects = 1 << 16;  // of one migration

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

// ---- The layer's functions -----------------------------------------------------------------------------------------

// The layer's function for an entry of the table whose first parameter is the queue and whose last one is the event.
// `kDescribe` gets all parameters but the queue.
template <auto kEntry, auto kDescribe, class... Args>
cl_int CL_API_CALL enqueue_as(cl_command_queue queue, Args... args) noexcept {
  cl_event*& event = std::get<sizeof...(Args) - 1>(std::tie(args...));
  return enqueue(
      queue, event, [&] { return kDescribe(args...); },
      [&](cl_event* wanted) {
        event = wanted;
        return (target.*kEntry)(queue, args...);
      });
}

// The same for a function that returns an address, and puts its result where the last parameter says.
template <auto kEntry, auto kDescribe, class... Args>
void* CL_API_CALL map_as(cl_command_queue queue, Args... args) noexcept {
  cl_event*& event = std::get<sizeof...(Args) - 2>(std::tie(args...));
  cl_int result = CL_SUCCESS;
  cl_int* const callers_code = std::exchange(std::get<sizeof...(Args) - 1>(std::tie(args...)), &result);
  void* address = nullptr;
  enqueue(
      queue, event, [&] { return kDescribe(args...); },
      [&](cl_event* wanted) {
        event = wanted;
        address = (target.*kEntry)(queue, args...);
        return result;
      });
  if (callers_code != nullptr) *callers_code = result;
  return address;
}

// Parameter number `kNumber` after the queue.
template <class Wanted, size_t kNumber, class... Args>
Wanted parameter(const Args&... args) noexcept {
  const auto& found = std::get<kNumber>(std::tie(args...));
  static_assert(std::is_same_v<decltype(found), const Wanted&>);
  return found;
}

// The bytes of a region of `element` bytes each. 0 if the caller gave none; the driver refuses that.
uint64_t region_bytes(const size_t* region, uint64_t element = 1) noexcept {
  return region == nullptr ? 0 : uint64_t{region[0]} * region[1] * region[2] * element;
}

// Descriptions of commands by their sites and the numbers of the parameters that tell how many bytes they have: a
// number of bytes, a region of a buffer, or an image and a region of it.
template <Sites& kSites>
constexpr auto plain = [](const auto&...) noexcept { return operation(kSites); };
template <Sites& kSites, size_t kBytes>
constexpr auto sized =
    [](const auto&... args) noexcept { return operation(kSites, parameter<size_t, kBytes>(args...)); };
template <Sites& kSites, size_t kRegion>
constexpr auto rectangle = [](const auto&... args) noexcept {
  return operation(kSites, region_bytes(parameter<const size_t*, kRegion>(args...)));
};
template <Sites& kSites, size_t kImage, size_t kRegion>
constexpr auto image = [](const auto&... args) noexcept {
  const auto element = ask<size_t>(target.clGetImageInfo, parameter<cl_mem, kImage>(args...), CL_IMAGE_ELEMENT_SIZE);
  return operation(kSites, region_bytes(parameter<const size_t*, kRegion>(args...), element));
};

Operation migration_of(cl_uint count, const cl_mem* objects) noexcept {
  uint64_t bytes = 0;
  for (cl_uint i = 0; objects != nullptr && i < count && i < kMaxObjects; ++i)
    bytes += ask<size_t>(target.clGetMemObjectInfo, objects[i], CL_MEM_SIZE);
  return operation(kMigrate, bytes);
}

Operation shared_migration_of(cl_uint count, const size_t* sizes) noexcept {
  uint64_t bytes = 0;  // a size of 0 means the whole block
  for (cl_uint i = 0; sizes != nullptr && i < count && i < kMaxObjects; ++i) bytes += sizes[i];
  return operation(kMigrate, bytes);
}

cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_event* event) noexcept {
  // Its event is its result: the driver refuses a marker without one.
  if (event == nullptr) return target.clEnqueueMarker(queue, event);
  return enqueue_as<&cl_icd_dispatch::clEnqueueMarker, plain<kMarker>>(queue, event);
}

}  // namespace

void add_command_calls(cl_icd_dispatch& table) {
  using Table = cl_icd_dispatch;
  constexpr auto launch = [](cl_kernel kernel, cl_uint dimensions, const size_t*, const size_t* threads,
                             const size_t* group, auto...) { return launch_of(kernel, dimensions, threads, group); };
  constexpr auto task = [](cl_kernel kernel, auto...) {
    constexpr size_t kOne = 1;
    return launch_of(kernel, 1, &kOne, &kOne);
  };
  constexpr auto migrate = [](cl_uint count, const cl_mem* objects, auto...) { return migration_of(count, objects); };
  constexpr auto migrate_shared = [](cl_uint count, const void**, const size_t* sizes, auto...) {
    return shared_migration_of(count, sizes);
  };
  table.clCreateKernel = create_kernel;
  table.clCreateKernelsInProgram = create_kernels;
  table.clCloneKernel = clone_kernel;
  table.clEnqueueNDRangeKernel = enqueue_as<&Table::clEnqueueNDRangeKernel, launch>;
  table.clEnqueueTask = enqueue_as<&Table::clEnqueueTask, task>;
  table.clEnqueueNativeKernel = enqueue_as<&Table::clEnqueueNativeKernel, plain<kNativeKernel>>;
  table.clEnqueueMarker = enqueue_marker;
  table.clEnqueueMarkerWithWaitList = enqueue_as<&Table::clEnqueueMarkerWithWaitList, plain<kMarker>>;
  table.clEnqueueBarrierWithWaitList = enqueue_as<&Table::clEnqueueBarrierWithWaitList, plain<kBarrier>>;

  table.clEnqueueReadBuffer = enqueue_as<&Table::clEnqueueReadBuffer, sized<kCopyToHost, 3>>;
  table.clEnqueueWriteBuffer = enqueue_as<&Table::clEnqueueWriteBuffer, sized<kCopyToDevice, 3>>;
  table.clEnqueueCopyBuffer = enqueue_as<&Table::clEnqueueCopyBuffer, sized<kCopyOnDevice, 4>>;
  table.clEnqueueReadBufferRect = enqueue_as<&Table::clEnqueueReadBufferRect, rectangle<kCopyToHost, 4>>;
  table.clEnqueueWriteBufferRect = enqueue_as<&Table::clEnqueueWriteBufferRect, rectangle<kCopyToDevice, 4>>;
  table.clEnqueueCopyBufferRect = enqueue_as<&Table::clEnqueueCopyBufferRect, rectangle<kCopyOnDevice, 4>>;
  table.clEnqueueFillBuffer = enqueue_as<&Table::clEnqueueFillBuffer, sized<kFill, 4>>;
  table.clEnqueueMapBuffer = map_as<&Table::clEnqueueMapBuffer, sized<kMap, 4>>;
  table.clEnqueueUnmapMemObject = enqueue_as<&Table::clEnqueueUnmapMemObject, plain<kUnmap>>;
  table.clEnqueueMigrateMemObjects = enqueue_as<&Table::clEnqueueMigrateMemObjects, migrate>;

  table.clEnqueueReadImage = enqueue_as<&Table::clEnqueueReadImage, image<kCopyToHost, 0, 3>>;
  table.clEnqueueWriteImage = enqueue_as<&Table::clEnqueueWriteImage, image<kCopyToDevice, 0, 3>>;
  table.clEnqueueCopyImage = enqueue_as<&Table::clEnqueueCopyImage, image<kCopyOnDevice, 0, 4>>;
  table.clEnqueueCopyImageToBuffer = enqueue_as<&Table::clEnqueueCopyImageToBuffer, image<kCopyOnDevice, 0, 3>>;
  table.clEnqueueCopyBufferToImage = enqueue_as<&Table::clEnqueueCopyBufferToImage, image<kCopyOnDevice, 1, 4>>;
  table.clEnqueueFillImage = enqueue_as<&Table::clEnqueueFillImage, image<kFill, 0, 3>>;
  table.clEnqueueMapImage = map_as<&Table::clEnqueueMapImage, image<kMap, 0, 4>>;

  table.clEnqueueSVMMemcpy = enqueue_as<&Table::clEnqueueSVMMemcpy, sized<kCopyOnDevice, 3>>;
  table.clEnqueueSVMMemFill = enqueue_as<&Table::clEnqueueSVMMemFill, sized<kFill, 3>>;
  table.clEnqueueSVMMap = enqueue_as<&Table::clEnqueueSVMMap, sized<kMap, 3>>;
  table.clEnqueueSVMUnmap = enqueue_as<&Table::clEnqueueSVMUnmap, plain<kUnmap>>;
  table.clEnqueueSVMMigrateMem = enqueue_as<&Table::clEnqueueSVMMigrateMem, migrate_shared>;
}

}  // namespace kymo::inject::opencl
