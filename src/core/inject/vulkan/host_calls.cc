// Waits of the program's threads, the presentation of images, and memory.
#include <array>
#include <new>
#include <string>

#include "inject/vulkan/calls.h"
#include "kymo/queue.h"

namespace kymo::inject::vulkan {
namespace {

// Readers know a wait for a device by this category and by "wait".
constinit Site fence_wait(Label("wait for fences", "device")), semaphore_wait(Label("wait for semaphores", "device")),
    queue_wait(Label("wait for queue", "device")), device_wait(Label("wait for device", "device")),
    image_wait(Label("wait for image", "device")), present_site(Label("present", "device"));
constexpr Label kVulkanMemory("device memory", "memory");

VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                                               uint64_t timeout) noexcept {
  DeviceState& state = device_of(device);
  // Programs also poll with a timeout of 0.
  const auto call = [&] { return state.next.WaitForFences(device, count, fences, all, timeout); };
  return noted(state, timeout == 0 ? call() : recorded_call(fence_wait, call));
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_semaphores(VkDevice device, const VkSemaphoreWaitInfo* info,
                                                   uint64_t timeout) noexcept {
  DeviceState& state = device_of(device);
  const auto call = [&] { return state.next.WaitSemaphores(device, info, timeout); };
  return noted(state, timeout == 0 ? call() : recorded_call(semaphore_wait, call));
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_queue(VkQueue handle) noexcept {
  DeviceState& state = device_of(handle);
  const VkResult result = recorded_call(queue_wait, [&] { return state.next.QueueWaitIdle(handle); });
  if (QueueState* queue = result == VK_SUCCESS ? objects().queue(handle) : nullptr) queue->slots.idle();
  return noted(state, result);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_device(VkDevice device) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = recorded_call(device_wait, [&] { return state.next.DeviceWaitIdle(device); });
  if (result == VK_SUCCESS) {
    const std::lock_guard lock(state.mutex);
    for (const auto& queue : state.queues) queue->slots.idle();
  }
  return noted(state, result);
}

VKAPI_ATTR VkResult VKAPI_CALL present(VkQueue queue, const VkPresentInfoKHR* info) noexcept {
  DeviceState& state = device_of(queue);
  return noted(state, recorded_call(present_site, [&] { return state.next.QueuePresentKHR(queue, info); }));
}

VKAPI_ATTR VkResult VKAPI_CALL acquire(VkDevice device, VkSwapchainKHR chain, uint64_t timeout, VkSemaphore semaphore,
                                       VkFence fence, uint32_t* index) noexcept {
  DeviceState& state = device_of(device);
  return noted(state, recorded_call(image_wait, [&] {
                 return state.next.AcquireNextImageKHR(device, chain, timeout, semaphore, fence, index);
               }));
}

VKAPI_ATTR VkResult VKAPI_CALL acquire_2(VkDevice device, const VkAcquireNextImageInfoKHR* info,
                                         uint32_t* index) noexcept {
  DeviceState& state = device_of(device);
  return noted(state, recorded_call(image_wait, [&] { return state.next.AcquireNextImage2KHR(device, info, index); }));
}

// ---- Memory

VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkDeviceMemory* memory) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = state.next.AllocateMemory(device, info, allocator, memory);
  if (result != VK_SUCCESS || !kymo::detail::recording()) return result;
  try {
    const uint32_t type = info->memoryTypeIndex;
    const bool on_device = type < state.memory.memoryTypeCount &&
                           (state.memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    std::string place = on_device ? state.name : state.name + " (host memory)";
    const std::array args{kymo::bytes("bytes", info->allocationSize), kymo::arg("device", std::string_view(place))};
    kymo_allocation(&kVulkanMemory, args.data(), args.size(), number_of(*memory));
    count_call();
    const std::lock_guard lock(state.mutex);
    state.allocations[number_of(*memory)] = {info->allocationSize, std::move(place)};
  } catch (const std::bad_alloc&) {  // the allocation is missing
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                       const VkAllocationCallbacks* allocator) noexcept {
  DeviceState& state = device_of(device);
  std::pair<uint64_t, std::string> freed;
  if (memory != VK_NULL_HANDLE) {
    const std::lock_guard lock(state.mutex);
    if (auto node = state.allocations.extract(number_of(memory)); !node.empty()) freed = std::move(node.mapped());
  }
  if (!freed.second.empty()) {
    const std::array args{kymo::bytes("bytes", freed.first), kymo::arg("device", std::string_view(freed.second))};
    kymo_free(&kVulkanMemory, args.data(), args.size(), number_of(memory));
    count_call();
  }
  state.next.FreeMemory(device, memory, allocator);
}

}  // namespace

const PFN_vkWaitForFences layer::WaitForFences = wait_for_fences;
const PFN_vkWaitSemaphores layer::WaitSemaphores = wait_for_semaphores;
const PFN_vkQueueWaitIdle layer::QueueWaitIdle = wait_for_queue;
const PFN_vkDeviceWaitIdle layer::DeviceWaitIdle = wait_for_device;
const PFN_vkQueuePresentKHR layer::QueuePresentKHR = present;
const PFN_vkAcquireNextImageKHR layer::AcquireNextImageKHR = acquire;
const PFN_vkAcquireNextImage2KHR layer::AcquireNextImage2KHR = acquire_2;
const PFN_vkAllocateMemory layer::AllocateMemory = allocate_memory;
const PFN_vkFreeMemory layer::FreeMemory = free_memory;

}  // namespace kymo::inject::vulkan
