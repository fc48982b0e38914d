// OpenCL's error codes as text.
#pragma once

#include <string>
#include <string_view>

#include "device/opencl/api.h"

namespace kymo::device::opencl {

std::string error_name(cl_int code);  // "CL_OUT_OF_RESOURCES (-5)"

// "clFinish failed: CL_OUT_OF_RESOURCES (-5): …", with the meaning if it is known.
std::string error_text(cl_int code, std::string_view call);

[[noreturn]] void fail(cl_int code, std::string_view call);  // DeviceError

inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) [[unlikely]]
    fail(code, call);
}

}  // namespace kymo::device::opencl
