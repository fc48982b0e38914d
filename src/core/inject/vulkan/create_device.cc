#include "inject/vulkan/create_device.h"

#include <string.h>

#include <algorithm>
#include <new>

#include "base/text.h"
#include "inject/vulkan/calls.h"

namespace kymo::inject::vulkan {
namespace {

// The loader's data for this layer in the chain of a device.
VkLayerDeviceCreateInfo* loader_info(const VkDeviceCreateInfo& info, VkLayerFunction function) noexcept {
  for (const auto* one = static_cast<const VkBaseInStructure*>(info.pNext); one != nullptr; one = one->pNext) {
    if (one->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO) continue;
    auto* found = reinterpret_cast<VkLayerDeviceCreateInfo*>(const_cast<VkBaseInStructure*>(one));
    if (found->function == function) return found;
  }
  return nullptr;
}

bool offers(const InstanceState& instance, VkPhysicalDevice physical, const char* extension) {
  uint32_t count = 0;
  if (instance.next.EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr) < 0) return false;
  std::vector<VkExtensionProperties> all(count);
  if (instance.next.EnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data()) < 0) return false;
  all.resize(std::min<size_t>(count, all.size()));
  return std::ranges::any_of(all, [&](const auto& one) { return strcmp(one.extensionName, extension) == 0; });
}

// The driver can read the device's clock and CLOCK_MONOTONIC at once.
bool has_clock(const InstanceState& instance, VkPhysicalDevice physical) {
  const auto list = instance.next.GetPhysicalDeviceCalibrateableTimeDomainsEXT;
  uint32_t count = 0;
  if (list == nullptr || list(physical, &count, nullptr) < 0) return false;
  std::vector<VkTimeDomainEXT> domains(count);
  if (list(physical, &count, domains.data()) < 0) return false;
  const auto has = [&](VkTimeDomainEXT domain) { return std::ranges::find(domains, domain) != domains.end(); };
  return has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

bool lists_extension(const VkDeviceCreateInfo& info, const char* extension) noexcept {
  for (uint32_t i = 0; i < info.enabledExtensionCount; ++i)
    if (strcmp(info.ppEnabledExtensionNames[i], extension) == 0) return true;
  return false;
}

void describe_device(DeviceState& device) {
  const InstanceFunctions& next = device.instance->next;
  VkPhysicalDeviceProperties properties{};
  next.GetPhysicalDeviceProperties(device.physical, &properties);
  device.name.assign(properties.deviceName, strnlen(properties.deviceName, sizeof properties.deviceName));
  device.period_ns = properties.limits.timestampPeriod > 0 ? properties.limits.timestampPeriod : 1;
  device.is_cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  device.uuid = base::format("vulkan:{:x}:{:x}", properties.vendorID, properties.deviceID);
  if (next.GetPhysicalDeviceProperties2 != nullptr && device.instance->version >= VK_API_VERSION_1_1 &&
      properties.apiVersion >= VK_API_VERSION_1_1) {
    auto ids = made<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    auto all = made<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    all.pNext = &ids;
    next.GetPhysicalDeviceProperties2(device.physical, &all);
    device.uuid = base::hex(ids.deviceUUID);
  }
  next.GetPhysicalDeviceMemoryProperties(device.physical, &device.memory);
  uint32_t count = 0;
  next.GetPhysicalDeviceQueueFamilyProperties(device.physical, &count, nullptr);
  device.families.resize(count);
  next.GetPhysicalDeviceQueueFamilyProperties(device.physical, &count, device.families.data());
}

void load_functions(DeviceState& device) noexcept {
  DeviceFunctions& next = device.next;
#define KYMO_VULKAN_LAYER_LOAD(name) \
  next.name = reinterpret_cast<PFN_vk##name>(device.get_function(device.handle, "vk" #name));
  KYMO_VULKAN_LAYER_REPLACED_FUNCTIONS(KYMO_VULKAN_LAYER_LOAD)
  KYMO_VULKAN_LAYER_USED_FUNCTIONS(KYMO_VULKAN_LAYER_LOAD)
#undef KYMO_VULKAN_LAYER_LOAD
#define KYMO_VULKAN_LAYER_LOAD(alias, name)                                       \
  if (next.name == nullptr)                                                       \
    next.name = reinterpret_cast<PFN_vk##name>(device.get_function(device.handle, \
                                                                   "v"            \
                                                                   "k" #alias));
  KYMO_VULKAN_LAYER_ALIASES(KYMO_VULKAN_LAYER_LOAD)
#undef KYMO_VULKAN_LAYER_LOAD
}

// Calls the driver with the extension for the clock, and again without it if that does not work.
VkResult create_below(PFN_vkCreateDevice create, const InstanceState& instance, VkPhysicalDevice physical,
                      const VkDeviceCreateInfo& info, const VkAllocationCallbacks* allocator, VkDevice* device,
                      bool& is_calibrated) {
  constexpr const char* kClock = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
  is_calibrated = !instance.excluded && has_clock(instance, physical);
  if (instance.excluded || !is_calibrated || lists_extension(info, kClock))
    return create(physical, &info, allocator, device);
  is_calibrated = offers(instance, physical, kClock);
  if (!is_calibrated) return create(physical, &info, allocator, device);
  std::vector<const char*> extensions(info.ppEnabledExtensionNames,
                                      info.ppEnabledExtensionNames + info.enabledExtensionCount);
  extensions.push_back(kClock);
  VkDeviceCreateInfo with_clock = info;
  with_clock.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  with_clock.ppEnabledExtensionNames = extensions.data();
  // Layers below take their part of the chain: it must be as it was for another try.
  VkLayerDeviceCreateInfo* const link = loader_info(info, VK_LAYER_LINK_INFO);
  VkLayerDeviceLink* const below = link->u.pLayerInfo;
  const VkResult result = create(physical, &with_clock, allocator, device);
  if (result != VK_ERROR_EXTENSION_NOT_PRESENT) return result;
  link->u.pLayerInfo = below;
  is_calibrated = false;
  return create(physical, &info, allocator, device);
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) noexcept {
  if (handle == VK_NULL_HANDLE) return;
  const void* const key = key_of(handle);
  DeviceState* device = objects().device(key);
  if (device == nullptr) return;
  const PFN_vkDestroyDevice destroy = device->next.DestroyDevice;
  // The objects of work that is still pending stay: the driver may use them.
  if (!device->excluded && recorder().remove(*device)) {
    for (const auto& queue : device->queues) queue->slots.close(*device);
    device->chunks->close();
  } else if (!device->excluded) {
    device->chunks->abandon();
  }
  destroy(handle, allocator);
  objects().remove_device(key);
}

VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue* queue) noexcept {
  DeviceState& state = device_of(device);
  state.next.GetDeviceQueue(device, family, index, queue);
  try {
    objects().add_queue(state, *queue, family, index);
  } catch (const std::bad_alloc&) {  // it is not recorded
  }
}

VKAPI_ATTR void VKAPI_CALL get_queue_2(VkDevice device, const VkDeviceQueueInfo2* info, VkQueue* queue) noexcept {
  DeviceState& state = device_of(device);
  state.next.GetDeviceQueue2(device, info, queue);
  try {
    objects().add_queue(state, *queue, info->queueFamilyIndex, info->queueIndex);
  } catch (const std::bad_alloc&) {  // it is not recorded
  }
}

}  // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* device) noexcept {
  const InstanceState* instance = objects().instance(key_of(physical));
  VkLayerDeviceCreateInfo* const link = loader_info(*info, VK_LAYER_LINK_INFO);
  if (instance == nullptr || link == nullptr || link->u.pLayerInfo == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get_instance_function = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr get_function = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;  // for the next layer
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(get_instance_function(instance->handle, "vkCreateDevice"));
  if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  bool is_created = false;
  try {
    auto state = std::make_unique<DeviceState>();
    bool is_calibrated = false;
    const VkResult result = create_below(create, *instance, physical, *info, allocator, device, is_calibrated);
    if (result != VK_SUCCESS) return result;
    is_created = true;
    state->handle = *device;
    state->physical = physical;
    state->instance = instance;
    state->get_function = get_function;
    state->excluded = instance->excluded;
    if (const auto* data = loader_info(*info, VK_LOADER_DATA_CALLBACK))
      state->set_loader_data = data->u.pfnSetDeviceLoaderData;
    load_functions(*state);
    state->is_calibrated = is_calibrated && state->next.GetCalibratedTimestampsEXT != nullptr;
    if (!state->excluded) {
      describe_device(*state);
      state->chunks->open(state->handle, state->next);
    }
    DeviceState& added = objects().add(std::move(state));
    if (!added.excluded) recorder().add(added);
    return VK_SUCCESS;
  } catch (const std::bad_alloc&) {
    // A device that the layer does not know would break its functions.
    if (is_created)
      if (const auto destroy = reinterpret_cast<PFN_vkDestroyDevice>(get_function(*device, "vkDestroyDevice")))
        destroy(*device, allocator);
    *device = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
}

const PFN_vkDestroyDevice layer::DestroyDevice = destroy_device;
const PFN_vkGetDeviceQueue layer::GetDeviceQueue = get_queue;
const PFN_vkGetDeviceQueue2 layer::GetDeviceQueue2 = get_queue_2;

}  // namespace kymo::inject::vulkan
