// OpenCL's types, and the functions below the layer: those of the next layer, or of the loader itself.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

namespace kymo::inject::opencl {

// Set by clInitLayer and constant from then on. A function that the loader does not have is null.
extern cl_icd_dispatch target;

// A value of an object, by one of the functions clGet…Info.
template <class T, class Ask, class Object, class What>
T ask(Ask function, Object object, What what) noexcept {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): some values are handles, which are pointers
  return function(object, what, sizeof(T), &value, nullptr) == CL_SUCCESS ? value : T{};
}

// The layer's functions. Each of these sets those of its file in `table`.
void add_queue_calls(cl_icd_dispatch& table);
void add_kernel_calls(cl_icd_dispatch& table);
void add_buffer_calls(cl_icd_dispatch& table);
void add_image_calls(cl_icd_dispatch& table);
void add_shared_memory_calls(cl_icd_dispatch& table);
void add_memory_calls(cl_icd_dispatch& table);
void add_host_calls(cl_icd_dispatch& table);
void add_extension_calls(cl_icd_dispatch& table);

}  // namespace kymo::inject::opencl
