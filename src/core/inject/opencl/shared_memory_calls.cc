// Shared virtual memory, and commands on it.
#include "inject/opencl/enqueue.h"
#include "inject/opencl/memory.h"

namespace kymo::inject::opencl {
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

cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void* to, const void* from, size_t bytes,
                        cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL fill(cl_command_queue queue, void* to, const void* pattern, size_t pattern_bytes, size_t bytes,
                        cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kFill, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueSVMMemFill(queue, to, pattern, pattern_bytes, bytes, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void* address, size_t bytes,
                       cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kMap, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueSVMMap(queue, blocking, flags, address, bytes, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL unmap(cl_command_queue queue, void* address, cl_uint wait_count, const cl_event* waits,
                         cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kUnmap); },
      [&](cl_event* wanted) { return target.clEnqueueSVMUnmap(queue, address, wait_count, waits, wanted); });
}

cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const void** addresses, const size_t* sizes,
                           cl_mem_migration_flags flags, cl_uint wait_count, const cl_event* waits,
                           cl_event* event) noexcept {
  return enqueue(
      queue, event,
      [&] {
        uint64_t bytes = 0;  // a size of 0 means the whole block
        for (cl_uint i = 0; sizes != nullptr && i < count && i < kMaxBlocks; ++i) bytes += sizes[i];
        return operation(kMigrate, bytes);
      },
      [&](cl_event* wanted) {
        return target.clEnqueueSVMMigrateMem(queue, count, addresses, sizes, flags, wait_count, waits, wanted);
      });
}

}  // namespace

void add_shared_memory_calls(cl_icd_dispatch& table) {
  table.clSVMAlloc = allocate;
  table.clSVMFree = free_block;
  table.clEnqueueSVMFree = free_blocks;
  table.clEnqueueSVMMemcpy = copy;
  table.clEnqueueSVMMemFill = fill;
  table.clEnqueueSVMMap = map;
  table.clEnqueueSVMUnmap = unmap;
  table.clEnqueueSVMMigrateMem = migrate;
}

}  // namespace kymo::inject::opencl
