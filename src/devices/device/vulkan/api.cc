#include "device/vulkan/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

constexpr const char* kLibrary = "libvulkan.so.1";
constexpr const char* kRemedy = "install the Vulkan loader (Debian: libvulkan1) or set KYMO_VULKAN_LIBRARY";

[[noreturn]] void half_installed(const std::string& file, const char* function) {
  throw NotAvailable(base::format("vulkan: {} has no function {}: {}", file, function, kRemedy));
}

}  // namespace

LibraryApi open_library() {
  const char* chosen = base::environment("KYMO_VULKAN_LIBRARY");
  LibraryApi api;
  api.file = chosen != nullptr && *chosen != '\0' ? chosen : kLibrary;
  void* library = dlopen(api.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NotAvailable(base::format("vulkan: {}: {}", dlerror(), kRemedy));
  api.vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (api.vkGetInstanceProcAddr == nullptr) half_installed(api.file, "vkGetInstanceProcAddr");

#define KYMO_VULKAN_LOAD(name)                                                               \
  api.name = reinterpret_cast<PFN_##name>(api.vkGetInstanceProcAddr(VK_NULL_HANDLE, #name)); \
  if (api.name == nullptr) half_installed(api.file, #name);
  KYMO_VULKAN_LOAD(vkCreateInstance)
  KYMO_VULKAN_LOAD(vkEnumerateInstanceVersion)
#undef KYMO_VULKAN_LOAD
  return api;
}

InstanceApi instance_functions(const LibraryApi& library, VkInstance instance) {
  InstanceApi api;
#define KYMO_VULKAN_LOAD(name) api.name = reinterpret_cast<PFN_##name>(library.vkGetInstanceProcAddr(instance, #name));
#define KYMO_VULKAN_LOAD_OR_THROW(name) \
  KYMO_VULKAN_LOAD(name)                \
  if (api.name == nullptr) half_installed(library.file, #name);
  KYMO_VULKAN_INSTANCE_FUNCTIONS(KYMO_VULKAN_LOAD_OR_THROW)
  KYMO_VULKAN_LOAD(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)
#undef KYMO_VULKAN_LOAD
#undef KYMO_VULKAN_LOAD_OR_THROW
  return api;
}

DeviceApi device_functions(const InstanceApi& instance, VkDevice device) {
  DeviceApi api;
#define KYMO_VULKAN_LOAD(name) api.name = reinterpret_cast<PFN_##name>(instance.vkGetDeviceProcAddr(device, #name));
#define KYMO_VULKAN_LOAD_OR_THROW(name) \
  KYMO_VULKAN_LOAD(name)                \
  if (api.name == nullptr) half_installed("the driver", #name);
  KYMO_VULKAN_DEVICE_FUNCTIONS(KYMO_VULKAN_LOAD_OR_THROW)
  KYMO_VULKAN_OPTIONAL_FUNCTIONS(KYMO_VULKAN_LOAD)
#undef KYMO_VULKAN_LOAD
#undef KYMO_VULKAN_LOAD_OR_THROW
  return api;
}

namespace {

struct Known {
  VkResult result;
  std::string_view name, meaning;
};

constexpr std::array kKnown = {
    Known{VK_SUCCESS, "VK_SUCCESS", "no error"},
    Known{VK_NOT_READY, "VK_NOT_READY", "it is not done yet"},
    Known{VK_TIMEOUT, "VK_TIMEOUT", "it timed out"},
    Known{VK_INCOMPLETE, "VK_INCOMPLETE", "there is more than was asked for"},
    Known{VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", "the host has no memory left"},
    Known{VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", "the device has no memory left"},
    Known{VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", "the driver could not start"},
    Known{VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", "the device failed: its contents are gone"},
    Known{VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", "memory could not be mapped"},
    Known{VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", "a layer is not installed"},
    Known{VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", "the driver lacks an extension"},
    Known{VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", "the device lacks a feature"},
    Known{VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", "no driver is installed, or none fits"},
    Known{VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", "the driver cannot create more objects"},
    Known{VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", "a pool is fragmented"},
    Known{VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY", "a pool is exhausted"},
    Known{VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", "the driver rejects the kernel"},
    Known{VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", "the driver gives no reason"},
};

const Known* find(VkResult result) {
  const auto* found = std::ranges::find(kKnown, result, &Known::result);
  return found == kKnown.end() ? nullptr : found;
}

}  // namespace

std::string_view result_name(VkResult result) {
  const Known* known = find(result);
  return known != nullptr ? known->name : "a VkResult unknown to Kymo";
}

void throw_result(VkResult result, const char* call) {
  const Known* known = find(result);
  if (known == nullptr)
    throw DeviceError(base::format("vulkan: {} failed: VkResult {}", call, static_cast<int>(result)));
  throw DeviceError(base::format("vulkan: {} failed: {}: {}", call, known->name, known->meaning));
}

}  // namespace kymo::device::vulkan
