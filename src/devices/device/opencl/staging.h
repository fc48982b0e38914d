// Small uploads are copied here until the device has read them, so that the caller's memory may change at once.
//
// Four segments of fast host memory are used in turn. A full segment is closed with an event of the queue, and before
// it is written again, Kymo waits for that event. So an upload costs a memcpy, and no event of its own. Used by one
// thread at a time.
#pragma once

#include <array>
#include <cstddef>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class Staging {
 public:
  static constexpr size_t kSegmentBytes = 256 * 1024;
  static constexpr size_t kLargest = 64 * 1024;  // for more bytes a direct copy is faster

  explicit Staging(Context& context) : context_(context) {}
  ~Staging();  // the queue must be idle

  // A copy of these bytes that stays valid until the queue has executed the next enqueued command. Null: no memory is
  // left.
  const void* stage(cl_command_queue queue, const void* from, size_t bytes);

 private:
  static constexpr size_t kAlignment = 64;

  void close_segment(cl_command_queue queue);

  Context& context_;
  std::byte* memory_ = nullptr;  // of all segments; allocated at the first upload
  size_t segment_ = 0, used_ = 0;
  std::array<Event, 4> closed_;
};

}  // namespace kymo::device::opencl
