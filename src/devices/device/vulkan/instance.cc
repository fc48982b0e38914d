#include "device/vulkan/instance.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/text.h"
#include "device/vulkan/api.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

bool validation_wanted() {
  const char* value = base::environment("KYMO_VULKAN_VALIDATION");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

bool has_layer(const LibraryApi& library, const char* name) {
  uint32_t count = 0;
  check(library.vkEnumerateInstanceLayerProperties(&count, nullptr), "vkEnumerateInstanceLayerProperties");
  std::vector<VkLayerProperties> layers(count);
  check(library.vkEnumerateInstanceLayerProperties(&count, layers.data()), "vkEnumerateInstanceLayerProperties");
  layers.resize(count);
  return std::ranges::any_of(layers, [&](const auto& layer) { return std::strcmp(layer.layerName, name) == 0; });
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* validation) {
  if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
    static_cast<Validation*>(validation)->report(data->pMessage != nullptr ? data->pMessage : "");
  return VK_FALSE;
}

}  // namespace

void Validation::report(std::string message) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  unthrown_ = true;
}

void Validation::throw_first() {
  const std::lock_guard lock(mutex_);
  if (thrown_ == messages_.size()) return;
  const std::string message = "vulkan: validation: " + messages_[thrown_];
  thrown_ = messages_.size();
  unthrown_ = false;
  throw DeviceError(message);
}

Instance::Instance() : library_(open_library()) {
  uint32_t offered = 0;
  check(library_.vkEnumerateInstanceVersion(&offered), "vkEnumerateInstanceVersion");
  if (offered < VK_API_VERSION_1_2)
    throw NotAvailable(
        base::format("vulkan: {} has version {}.{}, but Kymo needs 1.2: update the Vulkan loader (Debian: "
                     "libvulkan1)",
                     library_.file, VK_API_VERSION_MAJOR(offered), VK_API_VERSION_MINOR(offered)));
  version_ = offered >= VK_API_VERSION_1_3 ? VK_API_VERSION_1_3 : VK_API_VERSION_1_2;

  auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = base::kVulkanEngine;
  application.apiVersion = version_;
  auto create = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  create.pApplicationInfo = &application;

  auto messenger =
      structure<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  constexpr std::array kChecks = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto features = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  features.enabledValidationFeatureCount = kChecks.size();
  features.pEnabledValidationFeatures = kChecks.data();
  const std::array extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  if (validation_wanted()) {
    if (!has_layer(library_, kValidationLayer))
      throw NotAvailable(
          base::format("vulkan: KYMO_VULKAN_VALIDATION is set, but the layer {} is not installed (Debian: "
                       "vulkan-validationlayers)",
                       kValidationLayer));
    validation_ = std::make_unique<Validation>();
    messenger.pUserData = validation_.get();
    messenger.pNext = &features;
    create.pNext = &messenger;
    create.enabledLayerCount = 1;
    create.ppEnabledLayerNames = &kValidationLayer;
    create.enabledExtensionCount = extensions.size();
    create.ppEnabledExtensionNames = extensions.data();
  }
  const VkResult result = library_.vkCreateInstance(&create, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    throw NotAvailable(
        "vulkan: no driver is installed: install the driver of your device, or Mesa's for the CPU (Debian: "
        "mesa-vulkan-drivers)");
  if (result < 0)
    throw NotAvailable(
        base::format("vulkan: vkCreateInstance failed: {}: see what `vulkaninfo` says (Debian: "
                     "vulkan-tools)",
                     result_name(result)));
  api_ = instance_functions(library_, instance_);
  if (validation_) {
    messenger.pNext = nullptr;
    check(api_.vkCreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_),
          "vkCreateDebugUtilsMessengerEXT");
  }
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) api_.vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  api_.vkDestroyInstance(instance_, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
  uint32_t count = 0;
  check(api_.vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(api_.vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "vkEnumeratePhysicalDevices");
  devices.resize(count);
  return devices;
}

}  // namespace kymo::device::vulkan
