#pragma once

#include "inject/opencl/target.h"

namespace kymo::inject::opencl {

// Creates a queue with profiling by a function of the extension cl_khr_create_command_queue.
using CreateQueueFunction = clCreateCommandQueueWithPropertiesKHR_fn;
cl_command_queue create_queue_by_extension(CreateQueueFunction create, cl_context context, cl_device_id device,
                                           const cl_queue_properties* properties, cl_int* code) noexcept;

}  // namespace kymo::inject::opencl
