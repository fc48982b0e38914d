#include "inject/vulkan/layer.h"

#include <string.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "base/vulkan_layer.h"
#include "inject/adapter.h"
#include "inject/vulkan/create_device.h"
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

VkLayerInstanceCreateInfo* instance_link(const VkInstanceCreateInfo& info) noexcept {
  for (const auto* one = static_cast<const VkBaseInStructure*>(info.pNext); one != nullptr; one = one->pNext) {
    if (one->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO) continue;
    auto* found = reinterpret_cast<VkLayerInstanceCreateInfo*>(const_cast<VkBaseInStructure*>(one));
    if (found->function == VK_LAYER_LINK_INFO) return found;
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
  VkLayerInstanceCreateInfo* const link = instance_link(*info);
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
