#include "device/opencl/stamp_driver.h"

#include "device/opencl/error.h"

namespace kymo::device::opencl {
namespace {

void* pointer_to(const StampBlock& block) { return reinterpret_cast<void*>(block.device); }

}  // namespace

OpenClStampDriver::~OpenClStampDriver() {
  if (reader_) context_.cl.clFinish(reader_.get());
  for (const StampBlock& block : blocks_) {
    if (block.device != 0) context_.cl.clSVMFree(context_.handle.get(), pointer_to(block));
    context_.host_memory.release(block.host);
  }
}

std::optional<int64_t> OpenClStampDriver::timer_offset() {
  return timer_.passes() ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<StampBlock> OpenClStampDriver::allocate(size_t bytes) {
  const Api& cl = context_.cl;
  if (!reader_) reader_ = context_.make_queue(false);
  StampBlock& block = blocks_.emplace_back();
  block.device = reinterpret_cast<uint64_t>(cl.clSVMAlloc(context_.handle.get(), CL_MEM_READ_WRITE, bytes, 0));
  block.host = static_cast<std::byte*>(context_.host_memory.allocate(bytes));
  if (block.device == 0 || block.host == nullptr) return std::nullopt;
  const cl_uint zero = 0;
  if (cl.clEnqueueSVMMemFill(queue_.get(), pointer_to(block), &zero, sizeof zero, bytes, 0, nullptr, nullptr) !=
      CL_SUCCESS)
    return std::nullopt;
  return block;
}

// A queue that is not flushed may never run its commands.
Event OpenClStampDriver::marker_in(const CommandQueue& queue) const {
  cl_event event = nullptr;
  check(context_.cl.clEnqueueMarkerWithWaitList(queue.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  Event marker(event, context_.cl.clReleaseEvent);
  check(context_.cl.clFlush(queue.get()), "clFlush");
  return marker;
}

void OpenClStampDriver::fence() { event_ = marker_in(queue_); }

void OpenClStampDriver::copy(const StampBlock& block, size_t offset, size_t bytes) {
  check(context_.cl.clEnqueueSVMMemcpy(reader_.get(), CL_FALSE, block.host + offset,
                                       static_cast<std::byte*>(pointer_to(block)) + offset, bytes, 0, nullptr, nullptr),
        "clEnqueueSVMMemcpy");
}

void OpenClStampDriver::end_copies() { event_ = marker_in(reader_); }

StampProgress OpenClStampDriver::look() {
  cl_int status = CL_COMPLETE;
  const cl_int code =
      context_.cl.clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  failure_ = code != CL_SUCCESS ? code : status;
  if (failure_ < CL_COMPLETE) return StampProgress::Failed;
  return failure_ == CL_COMPLETE ? StampProgress::Reached : StampProgress::Pending;
}

void OpenClStampDriver::wait() { check(context_.cl.clFinish(reader_.get()), "clFinish"); }

}  // namespace kymo::device::opencl
