#include "device/opencl/staging.h"

#include <cstring>

#include "device/opencl/error.h"

namespace kymo::device::opencl {

Staging::~Staging() { context_.host_memory.release(memory_); }

const void* Staging::stage(cl_command_queue queue, const void* from, size_t bytes) {
  if (memory_ == nullptr) {
    memory_ = static_cast<std::byte*>(context_.host_memory.allocate(closed_.size() * kSegmentBytes));
    if (memory_ == nullptr) return nullptr;
  }
  if (used_ + bytes > kSegmentBytes) close_segment(queue);
  std::byte* at = memory_ + segment_ * kSegmentBytes + used_;
  std::memcpy(at, from, bytes);
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

void Staging::close_segment(cl_command_queue queue) {
  const Api& cl = context_.cl;
  cl_event event = nullptr;
  check(cl.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  closed_[segment_] = {event, cl.clReleaseEvent};
  check(cl.clFlush(queue), "clFlush");
  segment_ = (segment_ + 1) % closed_.size();
  used_ = 0;
  if (!closed_[segment_]) return;
  const cl_event earlier = closed_[segment_].get();
  check(cl.clWaitForEvents(1, &earlier), "clWaitForEvents");
  closed_[segment_] = {};
}

}  // namespace kymo::device::opencl
