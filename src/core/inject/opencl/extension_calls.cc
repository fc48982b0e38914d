// Functions of extensions. Programs ask for their addresses, and the loader's table does not contain them.
//
// Each platform has its own function of a name. The layer gives out one function for all of them, which finds the
// platform by the object that it is called with.
#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string_view>
#include <tuple>

#include "base/host.h"
#include "inject/opencl/calls.h"

namespace kymo::inject::opencl {
namespace {

enum Extension : uint8_t {
  kCreateQueue,
  kCreateCommandBuffer,
  kEnqueueCommandBuffer,
  kCopyMemory,
  kFillMemory,
  kAllocateHost,
  kAllocateDevice,
  kAllocateShared,
  kFreeMemory,
  kFreeMemoryBlocking,
  kExtensions
};
constexpr std::array<const char*, kExtensions> kNames{"clCreateCommandQueueWithPropertiesKHR",
                                                      "clCreateCommandBufferKHR",
                                                      "clEnqueueCommandBufferKHR",
                                                      "clEnqueueMemcpyINTEL",
                                                      "clEnqueueMemFillINTEL",
                                                      "clHostMemAllocINTEL",
                                                      "clDeviceMemAllocINTEL",
                                                      "clSharedMemAllocINTEL",
                                                      "clMemFreeINTEL",
                                                      "clMemBlockingFreeINTEL"};

struct Functions {
  std::array<std::atomic<void*>, kExtensions> at{};
};
HandleTable<Functions> platforms;                  // never removed
HandleTable<_cl_command_queue> queues_of_buffers;  // the first queue of a command buffer

void* address_for(cl_platform_id platform, const char* name) noexcept {
  if (target.clGetExtensionFunctionAddressForPlatform != nullptr)
    return target.clGetExtensionFunctionAddressForPlatform(platform, name);
  return target.clGetExtensionFunctionAddress != nullptr ? target.clGetExtensionFunctionAddress(name) : nullptr;
}

// The platform's own function; null: it has none.
template <class Function>
Function function_of(cl_platform_id platform, Extension which) noexcept {
  Functions* known = platforms.find(platform);
  if (known != nullptr)
    if (void* address = known->at[which].load(std::memory_order_relaxed)) return reinterpret_cast<Function>(address);
  void* address = address_for(platform, kNames[which]);
  if (known == nullptr && platform != nullptr) {
    try {
      known = new Functions;  // another thread may do the same: then one of them is not used
      platforms.put(platform, known);
    } catch (const std::bad_alloc&) {  // it is asked for again next time
    }
  }
  if (known != nullptr) known->at[which].store(address, std::memory_order_relaxed);
  return reinterpret_cast<Function>(address);
}

cl_platform_id platform_of(cl_device_id device) noexcept {
  return ask<cl_platform_id>(target.clGetDeviceInfo, device, CL_DEVICE_PLATFORM);
}

cl_platform_id platform_of(cl_command_queue queue) noexcept {
  if (const QueueState* state = recorder().objects().queue(queue)) return state->device->platform;
  const auto device = ask<cl_device_id>(target.clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE);
  return device != nullptr ? platform_of(device) : nullptr;
}

cl_platform_id platform_of(cl_context context) noexcept {
  std::array<cl_device_id, 64> devices{};
  size_t size = 0;
  if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices.data(), &size) != CL_SUCCESS ||
      size < sizeof(cl_device_id))
    return nullptr;
  return platform_of(devices[0]);
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          const cl_queue_properties* properties, cl_int* code) noexcept {
  const auto create = function_of<CreateQueueFunction>(platform_of(device), kCreateQueue);
  if (create == nullptr) {
    if (code != nullptr) *code = CL_INVALID_DEVICE;
    return nullptr;
  }
  return create_queue_by_extension(create, context, device, properties, code);
}

cl_command_buffer_khr CL_API_CALL create_command_buffer(cl_uint count, const cl_command_queue* queues,
                                                        const cl_command_buffer_properties_khr* properties,
                                                        cl_int* code) noexcept {
  cl_command_queue queue = count != 0 && queues != nullptr ? queues[0] : nullptr;
  const auto create =
      queue != nullptr ? function_of<clCreateCommandBufferKHR_fn>(platform_of(queue), kCreateCommandBuffer) : nullptr;
  if (create == nullptr) {
    if (code != nullptr) *code = CL_INVALID_VALUE;
    return nullptr;
  }
  cl_command_buffer_khr made = create(count, queues, properties, code);
  try {
    queues_of_buffers.put(made, queue);
  } catch (const std::bad_alloc&) {  // it can be enqueued only with a queue
  }
  return made;
}

// Its kernels have no times of their own: it is one command.
cl_int CL_API_CALL enqueue_command_buffer(cl_uint count, cl_command_queue* queues, cl_command_buffer_khr buffer,
                                          cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  cl_command_queue queue = count != 0 && queues != nullptr ? queues[0] : queues_of_buffers.find(buffer);
  const auto call =
      queue != nullptr ? function_of<clEnqueueCommandBufferKHR_fn>(platform_of(queue), kEnqueueCommandBuffer) : nullptr;
  if (call == nullptr) return CL_INVALID_COMMAND_BUFFER_KHR;
  return enqueue(
      queue, event, [&] { return operation(kCommandBuffer); },
      [&](cl_event* wanted) { return call(count, queues, buffer, wait_count, waits, wanted); });
}

cl_int CL_API_CALL copy_memory(cl_command_queue queue, cl_bool blocking, void* to, const void* from, size_t bytes,
                               cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  const auto call = function_of<clEnqueueMemcpyINTEL_fn>(platform_of(queue), kCopyMemory);
  if (call == nullptr) return CL_INVALID_COMMAND_QUEUE;
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, bytes); },
      [&](cl_event* wanted) { return call(queue, blocking, to, from, bytes, wait_count, waits, wanted); });
}

cl_int CL_API_CALL fill_memory(cl_command_queue queue, void* to, const void* pattern, size_t pattern_bytes,
                               size_t bytes, cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  const auto call = function_of<clEnqueueMemFillINTEL_fn>(platform_of(queue), kFillMemory);
  if (call == nullptr) return CL_INVALID_COMMAND_QUEUE;
  return enqueue(
      queue, event, [&] { return operation(kFill, bytes); },
      [&](cl_event* wanted) { return call(queue, to, pattern, pattern_bytes, bytes, wait_count, waits, wanted); });
}

// The parameters between the context and the bytes differ.
template <class Function, Extension kWhich, class... Args>
void* CL_API_CALL allocate(cl_context context, Args... args) noexcept {
  constexpr size_t kLast = sizeof...(Args) - 1;
  const auto all = std::tie(args...);
  cl_int* const code = std::get<kLast>(all);
  const auto make = function_of<Function>(platform_of(context), kWhich);
  if (make == nullptr) {
    if (code != nullptr) *code = CL_INVALID_CONTEXT;
    return nullptr;
  }
  void* made = make(context, args...);
  const size_t bytes = std::get<kLast - 2>(all);  // then alignment and code
  record_allocated(context, made, bytes);
  return made;
}

template <class Function, Extension kWhich>
cl_int CL_API_CALL free_memory(cl_context context, void* address) noexcept {
  const auto call = function_of<Function>(platform_of(context), kWhich);
  if (call == nullptr) return CL_INVALID_CONTEXT;
  record_freed(address);
  return call(context, address);
}

// For Kymo's own device runtime, which records its work itself.
void CL_API_CALL exclude_context(cl_context context) noexcept {
  try {
    if (context != nullptr) recorder().objects().exclude(context);
  } catch (const std::bad_alloc&) {  // its work is recorded twice
  }
}

// The layer's function for this name; null: it has none.
void* own_function(std::string_view name) noexcept {
  static const std::array<void*, kExtensions> functions{
      reinterpret_cast<void*>(create_queue),
      reinterpret_cast<void*>(create_command_buffer),
      reinterpret_cast<void*>(enqueue_command_buffer),
      reinterpret_cast<void*>(copy_memory),
      reinterpret_cast<void*>(fill_memory),
      reinterpret_cast<void*>(static_cast<clHostMemAllocINTEL_fn>(allocate<clHostMemAllocINTEL_fn, kAllocateHost>)),
      reinterpret_cast<void*>(
          static_cast<clDeviceMemAllocINTEL_fn>(allocate<clDeviceMemAllocINTEL_fn, kAllocateDevice>)),
      reinterpret_cast<void*>(
          static_cast<clSharedMemAllocINTEL_fn>(allocate<clSharedMemAllocINTEL_fn, kAllocateShared>)),
      reinterpret_cast<void*>(free_memory<clMemFreeINTEL_fn, kFreeMemory>),
      reinterpret_cast<void*>(free_memory<clMemBlockingFreeINTEL_fn, kFreeMemoryBlocking>)};
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  return at != kNames.end() ? functions[static_cast<size_t>(at - kNames.begin())] : nullptr;
}

// `address` is what the driver has for this name.
void* replace(const char* name, void* address) noexcept {
  if (name == nullptr) return address;
  if (std::string_view(name) == base::kExcludeContext) return reinterpret_cast<void*>(exclude_context);
  if (address == nullptr) return nullptr;
  void* own = own_function(name);
  return own != nullptr ? own : address;
}

void* CL_API_CALL extension_for_platform(cl_platform_id platform, const char* name) noexcept {
  return replace(name, target.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void* CL_API_CALL extension(const char* name) noexcept {
  return replace(name, target.clGetExtensionFunctionAddress(name));
}

}  // namespace

void add_extension_calls(cl_icd_dispatch& table) {
  table.clGetExtensionFunctionAddressForPlatform = extension_for_platform;
  table.clGetExtensionFunctionAddress = extension;
}

}  // namespace kymo::inject::opencl
