// Converts the driver's results to kymo::DeviceError: the call, the driver's name for the error, its meaning, what to
// do.
#pragma once

#include <string>

#include "device/cuda/api.h"

namespace kymo::device::cuda {

std::string error_name(const Api& api, CUresult result);  // "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
std::string error_text(const Api& api, CUresult result);  // "an illegal memory access was encountered"

// A fault of a kernel or the device, after which every call that uses the context reports the same error.
bool is_fault(CUresult result);

[[noreturn]] void throw_error(const Api& api, CUresult result, const char* call);

inline void check(const Api& api, CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    throw_error(api, result, call);
}

}  // namespace kymo::device::cuda
