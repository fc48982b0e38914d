#include "device/work_capture.h"

namespace kymo::device {
namespace detail {

std::atomic<WorkCapture*> work_capture{nullptr};
thread_local constinit bool in_capture = false;

}  // namespace detail

void set_work_capture(WorkCapture* capture) { detail::work_capture.store(capture, std::memory_order_release); }

}  // namespace kymo::device
