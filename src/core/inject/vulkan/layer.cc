#include "inject/vulkan/layer.h"

#include <string.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "inject/adapter.h"
#include "inject/vulkan/calls.h"
#include "inject/vulkan/recorder.h"
#include "record/process.h"

namespace kymo::inject::vulkan {
namespace {

constexpr uint32_t kInterfaceVersion = 2;  // of the loader

struct Replacement {
  std::string_view name;
  PFN_vkVoidFunction function;
};

template <class Function>
PFN_vkVoidFunction plain(Function function) noexcept {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

// The layer's function for a device; null: it has none of this name.
PFN_vkVoidFunction device_replacement(std::string_view name) noexcept {
  static const auto* const all = [] {
    auto* list = new std::vector<Replacement>{
#define KYMO_VULKAN_LAYER_ENTRY(function) {"vk" #function, plain(layer::function)},
        KYMO_VULKAN_LAYER_REPLACED_FUNCTIONS(KYMO_VULKAN_LAYER_ENTRY)
#undef KYMO_VULKAN_LAYER_ENTRY
#define KYMO_VULKAN_LAYER_ENTRY(alias, function) {"vk" #alias, plain(layer::function)},
            KYMO_VULKAN_LAYER_ALIASES(KYMO_VULKAN_LAYER_ENTRY)
#undef KYMO_VULKAN_LAYER_ENTRY
    };
    std::ranges::sort(*list, {}, &Replacement::name);
    return list;
  }();
  const auto found = std::ranges::lower_bound(*all, name, {}, &Replacement::name);
  return found != all->end() && found->name == name ? found->function : nullptr;
}

bool is_kymos_own(const VkInstanceCreateInfo& info) noexcept {
  const VkApplicationInfo* program = info.pApplicationInfo;
  return program != nullptr && program->pEngineName != nullptr &&
         strcmp(program->pEngineName, base::kVulkanEngine) == 0;
}

// The loader's data for this layer in the chain of an instance or a device.
template <class Info>
Info* loader_info(const void* chain, VkStructureType type, VkLayerFunction function) noexcept {
  for (const auto* one = static_cast<const VkBaseInStructure*>(chain); one != nullptr; one = one->pNext) {
    if (one->sType != type) continue;
    auto* found = reinterpret_cast<Info*>(const_cast<VkBaseInStructure*>(one));
    if (found->function == function) return found;
  }
  return nullptr;
}

void load_instance_functions(InstanceState& instance) noexcept {
#define KYMO_VULKAN_LAYER_LOAD(name) \
  instance.next.name = reinterpret_cast<PFN_vk##name>(instance.get_function(instance.handle, "vk" #name));
  KYMO_VULKAN_LAYER_INSTANCE_FUNCTIONS(KYMO_VULKAN_LAYER_LOAD)
#undef KYMO_VULKAN_LAYER_LOAD
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                               VkInstance* instance) noexcept {
  auto* const link = loader_info<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                                            VK_LAYER_LINK_INFO);
  if (link == nullptr || link->u.pLayerInfo == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get_function = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;  // for the next layer
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get_function(VK_NULL_HANDLE, "vkCreateInstance"));
  if (create == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  std::unique_ptr<InstanceState> state(new (std::nothrow) InstanceState);
  if (state == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
  const VkResult result = create(info, allocator, instance);
  if (result != VK_SUCCESS) return result;
  state->handle = *instance;
  state->get_function = get_function;
  if (info->pApplicationInfo != nullptr && info->pApplicationInfo->apiVersion != 0)
    state->version = info->pApplicationInfo->apiVersion;
  state->excluded = is_kymos_own(*info) || !is_wanted(record::Interface::Vulkan);
  load_instance_functions(*state);
  const PFN_vkDestroyInstance destroy = state->next.DestroyInstance;
  try {
    if (!state->excluded) record::process();  // finds the recording of the process
    objects().add(std::move(state));
    return VK_SUCCESS;
  } catch (const std::bad_alloc&) {
    destroy(*instance, allocator);
    *instance = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) noexcept {
  if (instance == VK_NULL_HANDLE) return;
  const void* const key = key_of(instance);
  const InstanceState* state = objects().instance(key);
  if (state == nullptr) return;
  state->next.DestroyInstance(instance, allocator);
  objects().remove_instance(key);
}

// ---- Devices: what the layer must know about one, and what it adds to the extensions of the program

VkLayerDeviceCreateInfo* device_info(const VkDeviceCreateInfo& info, VkLayerFunction function) noexcept {
  return loader_info<VkLayerDeviceCreateInfo>(info.pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, function);
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
  VkLayerDeviceCreateInfo* const link = device_info(info, VK_LAYER_LINK_INFO);
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

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* device) noexcept {
  const InstanceState* instance = objects().instance(key_of(physical));
  VkLayerDeviceCreateInfo* const link = device_info(*info, VK_LAYER_LINK_INFO);
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
    if (const auto* data = device_info(*info, VK_LOADER_DATA_CALLBACK))
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

// ---- What the layer says about itself

VkLayerProperties own_properties() noexcept {
  VkLayerProperties own{};
  strncpy(own.layerName, base::kVulkanLayer, sizeof own.layerName - 1);
  strncpy(own.description, "Records Vulkan work for Kymo", sizeof own.description - 1);
  own.specVersion = VK_HEADER_VERSION_COMPLETE;
  own.implementationVersion = 1;
  return own;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_layers(uint32_t* count, VkLayerProperties* properties) noexcept {
  if (properties == nullptr) {
    *count = 1;
    return VK_SUCCESS;
  }
  if (*count == 0) return VK_INCOMPLETE;
  *count = 1;
  properties[0] = own_properties();
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_device_layers(VkPhysicalDevice, uint32_t* count,
                                                       VkLayerProperties* properties) noexcept {
  return enumerate_layers(count, properties);
}

bool is_own_name(const char* layer_name) noexcept {
  return layer_name != nullptr && strcmp(layer_name, base::kVulkanLayer) == 0;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_instance_extensions(const char* layer_name, uint32_t* count,
                                                             VkExtensionProperties*) noexcept {
  if (!is_own_name(layer_name)) return VK_ERROR_LAYER_NOT_PRESENT;
  *count = 0;  // it has none
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_device_extensions(VkPhysicalDevice physical, const char* layer_name,
                                                           uint32_t* count,
                                                           VkExtensionProperties* properties) noexcept {
  if (is_own_name(layer_name)) {
    *count = 0;
    return VK_SUCCESS;
  }
  const InstanceState* instance = objects().instance(key_of(physical));
  if (instance == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  return instance->next.EnumerateDeviceExtensionProperties(physical, layer_name, count, properties);
}

// Functions of instances, and those that need none.
PFN_vkVoidFunction instance_replacement(std::string_view name) noexcept {
  if (name == "vkGetInstanceProcAddr") return plain(kymo_vkGetInstanceProcAddr);
  if (name == "vkGetDeviceProcAddr") return plain(kymo_vkGetDeviceProcAddr);
  if (name == "vkCreateInstance") return plain(create_instance);
  if (name == "vkDestroyInstance") return plain(destroy_instance);
  if (name == "vkCreateDevice") return plain(create_device);
  if (name == "vkEnumerateInstanceLayerProperties") return plain(enumerate_layers);
  if (name == "vkEnumerateInstanceExtensionProperties") return plain(enumerate_instance_extensions);
  if (name == "vkEnumerateDeviceLayerProperties") return plain(enumerate_device_layers);
  if (name == "vkEnumerateDeviceExtensionProperties") return plain(enumerate_device_extensions);
  return nullptr;
}

}  // namespace

KYMO_VULKAN_LAYER(DestroyDevice) = destroy_device;
KYMO_VULKAN_LAYER(GetDeviceQueue) = get_queue;
KYMO_VULKAN_LAYER(GetDeviceQueue2) = get_queue_2;

}  // namespace kymo::inject::vulkan

using namespace kymo::inject::vulkan;

PFN_vkVoidFunction VKAPI_CALL kymo_vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  if (name == nullptr) return nullptr;
  if (const PFN_vkVoidFunction own = instance_replacement(name)) return own;
  const InstanceState* state = instance != VK_NULL_HANDLE ? objects().instance(key_of(instance)) : nullptr;
  if (state == nullptr) return nullptr;
  const PFN_vkVoidFunction below = state->get_function(instance, name);
  if (below == nullptr || state->excluded) return below;
  const PFN_vkVoidFunction own = device_replacement(name);
  return own != nullptr ? own : below;
}

PFN_vkVoidFunction VKAPI_CALL kymo_vkGetDeviceProcAddr(VkDevice device, const char* name) {
  if (name == nullptr || device == VK_NULL_HANDLE) return nullptr;
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) return plain(kymo_vkGetDeviceProcAddr);
  const DeviceState* state = objects().device(key_of(device));
  if (state == nullptr) return nullptr;
  const PFN_vkVoidFunction below = state->get_function(device, name);
  if (below == nullptr) return nullptr;
  // The layer must forget a device also if it does not record it.
  if (state->excluded) return strcmp(name, "vkDestroyDevice") == 0 ? plain(layer::DestroyDevice) : below;
  const PFN_vkVoidFunction own = device_replacement(name);
  return own != nullptr ? own : below;
}

VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  if (version == nullptr || version->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT) return VK_ERROR_INITIALIZATION_FAILED;
  if (version->loaderLayerInterfaceVersion > kInterfaceVersion)
    version->loaderLayerInterfaceVersion = kInterfaceVersion;
  if (version->loaderLayerInterfaceVersion >= kInterfaceVersion) {
    version->pfnGetInstanceProcAddr = kymo_vkGetInstanceProcAddr;
    version->pfnGetDeviceProcAddr = kymo_vkGetDeviceProcAddr;
    version->pfnGetPhysicalDeviceProcAddr = nullptr;
  }
  return VK_SUCCESS;
}
