// The Vulkan layer VK_LAYER_KYMO_record: Vulkan's types, the functions below the layer (those of the next layer, or of
// the driver), and the functions that Vulkan's loader looks for in the library of a layer.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

namespace kymo::inject::vulkan {

// clang-format off
#define KYMO_VULKAN_LAYER_INSTANCE_FUNCTIONS(X)                                                                     \
  X(DestroyInstance) X(EnumerateDeviceExtensionProperties) X(GetPhysicalDeviceProperties)                           \
  X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceMemoryProperties)    \
  X(GetPhysicalDeviceCalibrateableTimeDomainsEXT)

// Functions that the layer replaces. Each has a function of the same name in namespace `layer`.
#define KYMO_VULKAN_LAYER_REPLACED_FUNCTIONS(X)                                                                     \
  X(DestroyDevice) X(GetDeviceQueue) X(GetDeviceQueue2)                                                             \
  X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers)                        \
  X(BeginCommandBuffer) X(CmdExecuteCommands)                                                                       \
  X(CreateRenderPass) X(CreateRenderPass2) X(DestroyRenderPass)                                                     \
  X(CmdBeginRenderPass) X(CmdBeginRenderPass2) X(CmdNextSubpass) X(CmdNextSubpass2) X(CmdEndRenderPass)             \
  X(CmdEndRenderPass2) X(CmdBeginRendering) X(CmdEndRendering)                                                      \
  X(CmdBindPipeline) X(CmdDispatch) X(CmdDispatchIndirect) X(CmdDispatchBase)                                       \
  X(CmdDraw) X(CmdDrawIndexed) X(CmdDrawIndirect) X(CmdDrawIndexedIndirect) X(CmdDrawIndirectCount)                 \
  X(CmdDrawIndexedIndirectCount) X(CmdDrawMeshTasksEXT) X(CmdTraceRaysKHR) X(CmdBuildAccelerationStructuresKHR)     \
  X(CmdCopyBuffer) X(CmdCopyImage) X(CmdCopyBufferToImage) X(CmdCopyImageToBuffer) X(CmdBlitImage)                  \
  X(CmdResolveImage) X(CmdCopyBuffer2) X(CmdCopyImage2) X(CmdCopyBufferToImage2) X(CmdCopyImageToBuffer2)           \
  X(CmdBlitImage2) X(CmdResolveImage2) X(CmdUpdateBuffer) X(CmdFillBuffer) X(CmdClearColorImage)                    \
  X(CmdClearDepthStencilImage)                                                                                      \
  X(CmdBeginDebugUtilsLabelEXT) X(CmdEndDebugUtilsLabelEXT) X(CmdInsertDebugUtilsLabelEXT)                          \
  X(QueueBeginDebugUtilsLabelEXT) X(QueueEndDebugUtilsLabelEXT) X(QueueInsertDebugUtilsLabelEXT)                    \
  X(SetDebugUtilsObjectNameEXT)                                                                                     \
  X(QueueSubmit) X(QueueSubmit2) X(QueueWaitIdle) X(DeviceWaitIdle) X(WaitForFences) X(WaitSemaphores)              \
  X(QueuePresentKHR) X(AcquireNextImageKHR) X(AcquireNextImage2KHR)                                                 \
  X(CreateShaderModule) X(DestroyShaderModule) X(CreateComputePipelines) X(CreateGraphicsPipelines)                 \
  X(DestroyPipeline) X(AllocateMemory) X(FreeMemory)

// Functions that the layer calls itself.
#define KYMO_VULKAN_LAYER_USED_FUNCTIONS(X)                                                                         \
  X(CreateQueryPool) X(DestroyQueryPool) X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements)            \
  X(BindBufferMemory) X(MapMemory) X(EndCommandBuffer) X(CmdResetQueryPool) X(CmdWriteTimestamp)                    \
  X(CmdCopyQueryPoolResults) X(CmdPipelineBarrier) X(CreateFence) X(DestroyFence) X(GetFenceStatus) X(ResetFences)  \
  X(GetCalibratedTimestampsEXT)

// The same function under its name in an extension.
#define KYMO_VULKAN_LAYER_ALIASES(X)                                                                                \
  X(CreateRenderPass2KHR, CreateRenderPass2) X(CmdBeginRenderPass2KHR, CmdBeginRenderPass2)                         \
  X(CmdNextSubpass2KHR, CmdNextSubpass2) X(CmdEndRenderPass2KHR, CmdEndRenderPass2)                                 \
  X(CmdBeginRenderingKHR, CmdBeginRendering) X(CmdEndRenderingKHR, CmdEndRendering)                                 \
  X(CmdDispatchBaseKHR, CmdDispatchBase) X(CmdDrawIndirectCountKHR, CmdDrawIndirectCount)                           \
  X(CmdDrawIndirectCountAMD, CmdDrawIndirectCount) X(CmdDrawIndexedIndirectCountKHR, CmdDrawIndexedIndirectCount)   \
  X(CmdDrawIndexedIndirectCountAMD, CmdDrawIndexedIndirectCount)                                                    \
  X(CmdCopyBuffer2KHR, CmdCopyBuffer2) X(CmdCopyImage2KHR, CmdCopyImage2)                                           \
  X(CmdCopyBufferToImage2KHR, CmdCopyBufferToImage2) X(CmdCopyImageToBuffer2KHR, CmdCopyImageToBuffer2)             \
  X(CmdBlitImage2KHR, CmdBlitImage2) X(CmdResolveImage2KHR, CmdResolveImage2)                                       \
  X(QueueSubmit2KHR, QueueSubmit2) X(WaitSemaphoresKHR, WaitSemaphores)
// clang-format on

#define KYMO_VULKAN_LAYER_DECLARE(name) PFN_vk##name name = nullptr;
// A function that is not there is null.
struct InstanceFunctions {
  KYMO_VULKAN_LAYER_INSTANCE_FUNCTIONS(KYMO_VULKAN_LAYER_DECLARE)
};
struct DeviceFunctions {
  KYMO_VULKAN_LAYER_REPLACED_FUNCTIONS(KYMO_VULKAN_LAYER_DECLARE)
  KYMO_VULKAN_LAYER_USED_FUNCTIONS(KYMO_VULKAN_LAYER_DECLARE)
};
#undef KYMO_VULKAN_LAYER_DECLARE

// The layer's own functions, by the types of those that they replace.
namespace layer {
#define KYMO_VULKAN_LAYER_DECLARE(name) extern const PFN_vk##name name;
KYMO_VULKAN_LAYER_REPLACED_FUNCTIONS(KYMO_VULKAN_LAYER_DECLARE)
#undef KYMO_VULKAN_LAYER_DECLARE
}  // namespace layer
// Defines one of them: KYMO_VULKAN_LAYER(CmdDraw) = draw;
#define KYMO_VULKAN_LAYER(name) const PFN_vk##name layer::name

// One of Vulkan's structures, empty except for its type.
template <class T>
T made(VkStructureType type) noexcept {
  T value{};
  value.sType = type;
  return value;
}

// The structure of this type in a chain of extensions; null: there is none.
template <class T>
const T* find_in_chain(const void* chain, VkStructureType type) noexcept {
  for (const auto* one = static_cast<const VkBaseInStructure*>(chain); one != nullptr; one = one->pNext)
    if (one->sType == type) return reinterpret_cast<const T*>(one);
  return nullptr;
}

// What an object has in common with its device, or its instance: the loader's table.
template <class Handle>
const void* key_of(Handle handle) noexcept {
  return *reinterpret_cast<void* const*>(handle);
}

// A handle that is a pointer on some machines and a number on others.
template <class Handle>
uint64_t number_of(Handle handle) noexcept {
  return (uint64_t)handle;  // NOLINT(google-readability-casting): the only cast that does both
}

}  // namespace kymo::inject::vulkan

// The manifest names all three. Loaders since 2016 call the first one, and get the others from it.
extern "C" {
__attribute__((visibility("default"))) VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version);
__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL kymo_vkGetInstanceProcAddr(VkInstance instance,
                                                                                                const char* name);
__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL kymo_vkGetDeviceProcAddr(VkDevice device,
                                                                                              const char* name);
}
