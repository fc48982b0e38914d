// Commands on images.
#include "inject/opencl/enqueue.h"

namespace kymo::inject::opencl {
namespace {

// The bytes of a region of an image.
uint64_t image_bytes(cl_mem image, const size_t* region) noexcept {
  return region_bytes(region, ask<size_t>(target.clGetImageInfo, image, CL_IMAGE_ELEMENT_SIZE));
}

cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                              const size_t* region, size_t row, size_t slice, void* to, cl_uint wait_count,
                              const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyToHost, image_bytes(image, region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, to, wait_count, waits,
                                         wanted);
      });
}

cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                               const size_t* region, size_t row, size_t slice, const void* from, cl_uint wait_count,
                               const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyToDevice, image_bytes(image, region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice, from, wait_count, waits,
                                          wanted);
      });
}

cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to, const size_t* from_origin,
                              const size_t* to_origin, const size_t* region, cl_uint wait_count, const cl_event* waits,
                              cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, image_bytes(from, region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem from, cl_mem to, const size_t* origin,
                                        const size_t* region, size_t offset, cl_uint wait_count, const cl_event* waits,
                                        cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, image_bytes(from, region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset,
                                        const size_t* origin, const size_t* region, cl_uint wait_count,
                                        const cl_event* waits, cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kCopyOnDevice, image_bytes(to, region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, wait_count, waits, wanted);
      });
}

cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void* colour, const size_t* origin,
                              const size_t* region, cl_uint wait_count, const cl_event* waits,
                              cl_event* event) noexcept {
  return enqueue(
      queue, event, [&] { return operation(kFill, image_bytes(image, region)); },
      [&](cl_event* wanted) {
        return target.clEnqueueFillImage(queue, image, colour, origin, region, wait_count, waits, wanted);
      });
}

void* CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                            const size_t* origin, const size_t* region, size_t* row, size_t* slice, cl_uint wait_count,
                            const cl_event* waits, cl_event* event, cl_int* code) noexcept {
  return enqueue_map(
      queue, event, code, [&] { return operation(kMap, image_bytes(image, region)); },
      [&](cl_event* wanted, cl_int* result) {
        return target.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, wait_count, waits,
                                        wanted, result);
      });
}

}  // namespace

void add_image_calls(cl_icd_dispatch& table) {
  table.clEnqueueReadImage = read_image;
  table.clEnqueueWriteImage = write_image;
  table.clEnqueueCopyImage = copy_image;
  table.clEnqueueCopyImageToBuffer = copy_image_to_buffer;
  table.clEnqueueCopyBufferToImage = copy_buffer_to_image;
  table.clEnqueueFillImage = fill_image;
  table.clEnqueueMapImage = map_image;
}

}  // namespace kymo::inject::opencl
