// The Vulkan layer VK_LAYER_KYMO_record: the functions that Vulkan's loader looks for in the library of a layer.
//
// The manifest names all three. Loaders since 2016 call the first one, and get the others from it.
#pragma once

#include "inject/vulkan/api.h"

extern "C" {
__attribute__((visibility("default"))) VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version);
__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL kymo_vkGetInstanceProcAddr(VkInstance instance,
                                                                                                const char* name);
__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL kymo_vkGetDeviceProcAddr(VkDevice device,
                                                                                              const char* name);
}
