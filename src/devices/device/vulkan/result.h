// Converts the results of Vulkan calls to exceptions.
#pragma once

#include <string_view>

#include "device/vulkan/api.h"

namespace kymo::device::vulkan {

std::string_view result_name(VkResult result);  // "VK_ERROR_DEVICE_LOST"

// DeviceError with the call, the name of the result and what it means.
[[noreturn]] void throw_result(VkResult result, const char* call);

inline void check(VkResult result, const char* call) {
  if (result < 0) [[unlikely]]
    throw_result(result, call);
}

}  // namespace kymo::device::vulkan
