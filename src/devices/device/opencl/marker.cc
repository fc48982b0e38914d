#include "device/opencl/marker.h"

#include "device/opencl/error.h"

namespace kymo::device::opencl {

void OpenClMarker::put(Event event, cl_command_queue queue) {
  event_ = std::move(event);
  flushed_ = false;
  if (is_in(queue)) return;
  context_.cl.clRetainCommandQueue(queue);
  queue_ = {queue, context_.cl.clReleaseCommandQueue};
}

void OpenClMarker::flush() {
  if (flushed_) return;
  check(context_.cl.clFlush(queue_.get()), "clFlush");
  flushed_ = true;
}

bool OpenClMarker::reached() {
  if (!event_) return true;
  flush();
  cl_int status = CL_COMPLETE;
  check(context_.cl.clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
        "clGetEventInfo");
  return status <= CL_COMPLETE;  // a lower value: it failed and will not complete
}

void OpenClMarker::synchronize() {
  if (!event_) return;
  flush();
  const cl_event event = event_.get();
  check(context_.cl.clWaitForEvents(1, &event), "clWaitForEvents");
}

std::optional<uint64_t> OpenClMarker::time() {
  if (!timing_ || !event_ || !reached()) return std::nullopt;
  cl_ulong end = 0;
  if (context_.cl.clGetEventProfilingInfo(event_.get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
      CL_SUCCESS)
    return std::nullopt;
  return end;
}

}  // namespace kymo::device::opencl
