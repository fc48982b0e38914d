// Memory of devices in the trace: when it was allocated and freed, and how much.
#pragma once

#include "inject/opencl/recorder.h"

namespace kymo::inject::opencl {

// A block with an address, such as shared virtual memory.
void record_allocated(cl_context context, const void* address, uint64_t bytes) noexcept;
void record_freed(const void* address) noexcept;

}  // namespace kymo::inject::opencl
