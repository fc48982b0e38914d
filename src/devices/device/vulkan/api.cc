#include "device/vulkan/api.h"

#include <dlfcn.h>

#include <cstdlib>

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
  KYMO_VULKAN_LOAD(vkEnumerateInstanceLayerProperties)
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
  KYMO_VULKAN_LOAD(vkCreateDebugUtilsMessengerEXT)
  KYMO_VULKAN_LOAD(vkDestroyDebugUtilsMessengerEXT)
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

}  // namespace kymo::device::vulkan
