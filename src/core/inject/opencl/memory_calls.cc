// Memory objects: buffers, images and pipes. The driver reports when an object is destroyed, so that the layer does not
// count references.

#include <array>
#include <new>
#include <type_traits>

#include "inject/opencl/calls.h"
#include "inject/opencl/recorder.h"
#include "kymo/queue.h"

namespace kymo::inject::opencl {
namespace {

const Label kMemory("device memory", "memory");

// `store` is kymo_allocation or kymo_free.
template <auto store>
void record_memory(const DeviceState& device, uint64_t address, uint64_t bytes) noexcept {
  const std::array args{kymo::bytes("bytes", bytes), kymo::arg("device", std::string_view(device.name))};
  store(&kMemory, args.data(), args.size(), address);
  count_event();
}

struct Object {
  const DeviceState* device;  // lives as long as the process
  uint64_t bytes;
};

void CL_CALLBACK was_destroyed(cl_mem memory, void* data) {
  const std::unique_ptr<Object> object(static_cast<Object*>(data));
  record_memory<kymo_free>(*object->device, reinterpret_cast<uintptr_t>(memory), object->bytes);
}

// Without the report of its end an object would look like a leak. Then it is not recorded at all.
cl_mem record_object(cl_context context, cl_mem memory) noexcept {
  if (memory == nullptr || !kymo::detail::recording() || target.clSetMemObjectDestructorCallback == nullptr)
    return memory;
  try {
    size_t bytes = 0;
    const DeviceState* device = recorder().objects().device_of(context);
    if (device == nullptr ||
        target.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr) != CL_SUCCESS)
      return memory;
    auto object = std::make_unique<Object>(Object{device, bytes});
    if (target.clSetMemObjectDestructorCallback(memory, was_destroyed, object.get()) != CL_SUCCESS) return memory;
    (void)object.release();  // it belongs to the callback now
    record_memory<kymo_allocation>(*device, reinterpret_cast<uintptr_t>(memory), bytes);
  } catch (const std::bad_alloc&) {  // the object is not recorded
  }
  return memory;
}

// An image of a buffer has no memory of its own.
template <class Parameter>
bool has_memory(const Parameter& parameter) noexcept {
  if constexpr (std::is_same_v<Parameter, const cl_image_desc*>)
    return parameter != nullptr && parameter->mem_object == nullptr;
  return true;
}

// The layer's function for an entry of the table that creates an object.
template <auto kEntry, class... Args>
cl_mem CL_API_CALL create_as(cl_context context, Args... args) noexcept {
  cl_mem made = (target.*kEntry)(context, args...);
  return (has_memory(args) && ...) ? record_object(context, made) : made;
}

}  // namespace

void record_allocated(cl_context context, const void* address, uint64_t bytes) noexcept {
  if (address == nullptr || !kymo::detail::recording()) return;
  try {
    Objects& objects = recorder().objects();
    const DeviceState* device = objects.device_of(context);
    if (device == nullptr) return;
    objects.shared_memory().put(address, std::make_unique<SharedBlock>(SharedBlock{device, bytes}).release());
    record_memory<kymo_allocation>(*device, reinterpret_cast<uintptr_t>(address), bytes);
  } catch (const std::bad_alloc&) {  // the block is not recorded
  }
}

void record_freed(const void* address) noexcept {
  const std::unique_ptr<SharedBlock> block(recorder().objects().shared_memory().take(address));
  if (block != nullptr) record_memory<kymo_free>(*block->device, reinterpret_cast<uintptr_t>(address), block->bytes);
}

// ---- Shared virtual memory ------------------------------------------------------------------------------------------

namespace {

constexpr cl_uint kMaxBlocks = 1 << 16;

void* CL_API_CALL allocate(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment) noexcept {
  void* made = target.clSVMAlloc(context, flags, bytes, alignment);
  record_allocated(context, made, bytes);
  return made;
}

void CL_API_CALL free_block(cl_context context, void* address) noexcept {
  record_freed(address);  // before another thread can get the same address
  target.clSVMFree(context, address);
}

// Freed by the device, later. The trace has the moment of the call.
cl_int CL_API_CALL free_blocks(cl_command_queue queue, cl_uint count, void** addresses,
                               void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void**, void*), void* data,
                               cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  for (cl_uint i = 0; addresses != nullptr && i < count && i < kMaxBlocks; ++i) record_freed(addresses[i]);
  return target.clEnqueueSVMFree(queue, count, addresses, function, data, wait_count, waits, event);
}

}  // namespace

void add_memory_calls(cl_icd_dispatch& table) {
  using Table = cl_icd_dispatch;
  table.clCreateBuffer = create_as<&Table::clCreateBuffer>;
  table.clCreateBufferWithProperties = create_as<&Table::clCreateBufferWithProperties>;
  table.clCreateImage = create_as<&Table::clCreateImage>;
  table.clCreateImageWithProperties = create_as<&Table::clCreateImageWithProperties>;
  table.clCreateImage2D = create_as<&Table::clCreateImage2D>;
  table.clCreateImage3D = create_as<&Table::clCreateImage3D>;
  table.clCreatePipe = create_as<&Table::clCreatePipe>;
  table.clSVMAlloc = allocate;
  table.clSVMFree = free_block;
  table.clEnqueueSVMFree = free_blocks;
}

}  // namespace kymo::inject::opencl
