// Devices: what the layer must know about one, and what it adds to the extensions of the program.
#pragma once

#include "inject/vulkan/objects.h"

namespace kymo::inject::vulkan {

// vkCreateDevice and vkDestroyDevice of the layer.
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* device) noexcept;

}  // namespace kymo::inject::vulkan
