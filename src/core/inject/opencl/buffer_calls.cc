// Commands on buffers, and on any memory object.
#include "inject/opencl/enqueue.h"

namespace kymo::inject::opencl {
namespace {

constexpr cl_uint kMaxObjects = 1 << 16;

uint64_t bytes_of(cl_mem memory) noexcept { return ask<size_t>(target.clGetMemObjectInfo, memory, CL_MEM_SIZE); }

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                               void* to, cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyToHost, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                                const void* from, cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyToDevice, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                               size_t bytes, cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL read_rectangle(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* buffer_origin,
                                  const size_t* host_origin, const size_t* region, size_t buffer_row,
                                  size_t buffer_slice, size_t host_row, size_t host_slice, void* to, cl_uint wait_count,
                                  const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyToHost, region_bytes(region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueReadBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
                                              buffer_slice, host_row, host_slice, to, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL write_rectangle(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* buffer_origin,
                                   const size_t* host_origin, const size_t* region, size_t buffer_row,
                                   size_t buffer_slice, size_t host_row, size_t host_slice, const void* from,
                                   cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyToDevice, region_bytes(region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueWriteBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
                                               buffer_slice, host_row, host_slice, from, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL copy_rectangle(cl_command_queue queue, cl_mem from, cl_mem to, const size_t* from_origin,
                                  const size_t* to_origin, const size_t* region, size_t from_row, size_t from_slice,
                                  size_t to_row, size_t to_slice, cl_uint wait_count, const cl_event* waits,
                                  cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, region_bytes(region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row, from_slice,
                                              to_row, to_slice, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_bytes,
                               size_t offset, size_t bytes, cl_uint wait_count, const cl_event* waits,
                               cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kFill, bytes); },
      [&](cl_event* wanted) {
        return target.clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset, bytes, wait_count, waits,
                                          wanted);
      });
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t bytes, cl_uint wait_count, const cl_event* waits, cl_event* event,
                             cl_int* code) noexcept {
  return enqueue_map(
      queue, event, code, [&] { return operation(kMap, bytes); },
      [&](cl_event* wanted, cl_int* result) {
        return target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, wait_count, waits, wanted,
                                         result);
      });
}

cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void* address, cl_uint wait_count,
                         const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kUnmap); },
      [&](cl_event* wanted) {
        return target.clEnqueueUnmapMemObject(queue, memory, address, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const cl_mem* objects, cl_mem_migration_flags flags,
                           cl_uint wait_count, const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event,
      [&] {
        uint64_t bytes = 0;
        for (cl_uint i = 0; objects != nullptr && i < count && i < kMaxObjects; ++i) bytes += bytes_of(objects[i]);
        return operation(kMigrate, bytes);
      },
      [&](cl_event* wanted) {
        return target.clEnqueueMigrateMemObjects(queue, count, objects, flags, wait_count, waits, wanted);
      });
}

}  // namespace

void add_buffer_calls(cl_icd_dispatch& table) {
  table.clEnqueueReadBuffer = read_buffer;
  table.clEnqueueWriteBuffer = write_buffer;
  table.clEnqueueCopyBuffer = copy_buffer;
  table.clEnqueueReadBufferRect = read_rectangle;
  table.clEnqueueWriteBufferRect = write_rectangle;
  table.clEnqueueCopyBufferRect = copy_rectangle;
  table.clEnqueueFillBuffer = fill_buffer;
  table.clEnqueueMapBuffer = map_buffer;
  table.clEnqueueUnmapMemObject = unmap;
  table.clEnqueueMigrateMemObjects = migrate;
}

}  // namespace kymo::inject::opencl
