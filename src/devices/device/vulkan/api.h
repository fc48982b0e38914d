// The Vulkan loader, opened at run time, and its functions: global ones, those of an instance, those of a device.
//
// The library is libvulkan.so.1, or the one that KYMO_VULKAN_LIBRARY names. It is never closed: drivers do not survive
// that.
#pragma once

#include <string_view>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include <string>

namespace kymo::device::vulkan {

// clang-format off
#define KYMO_VULKAN_INSTANCE_FUNCTIONS(X)                                                                       \
  X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties2)                          \
  X(vkGetPhysicalDeviceFeatures2) X(vkGetPhysicalDeviceMemoryProperties2)                                       \
  X(vkGetPhysicalDeviceQueueFamilyProperties) X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice)         \
  X(vkGetDeviceProcAddr)

#define KYMO_VULKAN_DEVICE_FUNCTIONS(X)                                                                         \
  X(vkDestroyDevice) X(vkGetDeviceQueue) X(vkDeviceWaitIdle) X(vkQueueSubmit)                                   \
  X(vkCreateBuffer) X(vkDestroyBuffer) X(vkGetBufferMemoryRequirements) X(vkAllocateMemory) X(vkFreeMemory)     \
  X(vkBindBufferMemory) X(vkMapMemory) X(vkGetBufferDeviceAddress)                                              \
  X(vkCreateSemaphore) X(vkDestroySemaphore) X(vkWaitSemaphores) X(vkGetSemaphoreCounterValue)                  \
  X(vkCreateQueryPool) X(vkDestroyQueryPool) X(vkResetQueryPool) X(vkGetQueryPoolResults)                       \
  X(vkCreateShaderModule) X(vkDestroyShaderModule) X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout)         \
  X(vkCreateDescriptorSetLayout) X(vkDestroyDescriptorSetLayout)                                                \
  X(vkCreateComputePipelines) X(vkDestroyPipeline) X(vkCreatePipelineCache) X(vkDestroyPipelineCache)           \
  X(vkGetPipelineCacheData) X(vkCreateCommandPool) X(vkDestroyCommandPool) X(vkAllocateCommandBuffers)          \
  X(vkBeginCommandBuffer) X(vkEndCommandBuffer) X(vkCmdBindPipeline)                                             \
  X(vkCmdPushConstants) X(vkCmdDispatch) X(vkCmdPipelineBarrier) X(vkCmdCopyBuffer) X(vkCmdFillBuffer)          \
  X(vkCmdWriteTimestamp)

// Functions of extensions: null if the device was opened without the extension.
#define KYMO_VULKAN_OPTIONAL_FUNCTIONS(X) X(vkCmdPushDescriptorSetKHR) X(vkGetCalibratedTimestampsEXT) \
  X(vkGetMemoryHostPointerPropertiesEXT)
// clang-format on

#define KYMO_VULKAN_DECLARE(name) PFN_##name name = nullptr;

// The functions of the library itself.
struct LibraryApi {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  KYMO_VULKAN_DECLARE(vkCreateInstance)
  KYMO_VULKAN_DECLARE(vkEnumerateInstanceVersion)
  std::string file;
};

struct InstanceApi {
  KYMO_VULKAN_INSTANCE_FUNCTIONS(KYMO_VULKAN_DECLARE)
  KYMO_VULKAN_DECLARE(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)  // of an extension
};

struct DeviceApi {
  KYMO_VULKAN_DEVICE_FUNCTIONS(KYMO_VULKAN_DECLARE)
  KYMO_VULKAN_OPTIONAL_FUNCTIONS(KYMO_VULKAN_DECLARE)
};

#undef KYMO_VULKAN_DECLARE

// One of Vulkan's structures, empty except for its type.
template <class T>
T structure(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

// Opens the library. Throws NotAvailable: it is missing, is not a Vulkan loader, or is older than 1.1.
LibraryApi open_library();
// Throw NotAvailable if a function is missing.
InstanceApi instance_functions(const LibraryApi& library, VkInstance instance);
DeviceApi device_functions(const InstanceApi& instance, VkDevice device);

// Converts the results of Vulkan calls to exceptions.

std::string_view result_name(VkResult result);  // "VK_ERROR_DEVICE_LOST"

// DeviceError with the call, the name of the result and what it means.
[[noreturn]] void throw_result(VkResult result, const char* call);

inline void check(VkResult result, const char* call) {
  if (result < 0) [[unlikely]]
    throw_result(result, call);
}

}  // namespace kymo::device::vulkan
