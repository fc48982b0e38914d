// A physical device as Kymo uses it: its properties, which of its extensions and features are turned on, and whether it
// can be used at all. Immutable once made.
//
// KYMO_VULKAN_HIDE is a list of extensions, separated by commas, that are treated as absent: tests run the ways around
// them on any device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/vulkan/instance.h"

namespace kymo::device::vulkan {

// The features that are turned on where they are there, as one chain for vkCreateDevice.
struct Features {
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{};
  VkPhysicalDeviceRobustness2FeaturesEXT robustness{};

  bool with_v13 = false, with_atomic_float = false, with_robustness = false;

  // Makes the chain of this object's parts: it must stay where it is while the chain is used.
  void link();
};

struct PhysicalDevice {
  PhysicalDevice(const Instance& instance, VkPhysicalDevice device);

  VkPhysicalDevice handle = VK_NULL_HANDLE;
  uint32_t version = 0;  // of the API: the device's or the application's, whichever is less
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceMemoryProperties memory{};
  uint64_t largest_allocation = 0;
  uint32_t most_push_descriptors = 0;  // 0: there are none

  bool push_descriptors = false, calibrated_clock = false, memory_budget = false;
  bool null_descriptors = false, timestamps = false;
  bool slow_timestamps = false;  // one takes as long as a small operation
  Features features;
  std::vector<const char*> extensions;  // to open it with

  uint32_t family = 0;  // of queues
  uint32_t queue_count = 0;
  uint32_t timestamp_bits = 0;

  std::string unusable;  // why not; empty: it is usable

  bool unified() const {
    return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
           properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
  uint32_t device_heap() const;  // the largest that is the device's own
  // The first type among `allowed` with all of `wanted`, else with all of `needed`; nothing: there is none.
  std::optional<uint32_t> memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted,
                                      VkMemoryPropertyFlags needed) const;

 private:
  void choose_extensions(const Instance& instance);
  void choose_features(const Instance& instance);
  void choose_family(const Instance& instance);
  bool has(const char* extension);  // if so it is turned on

  std::vector<std::string> offered_;
};

// Usable ones: discrete first, then integrated, the CPU last. Throws NotAvailable where there is none, with the
// reasons.
std::vector<PhysicalDevice> usable_devices(const Instance& instance);

// Without the languages: these depend on what compiles them.
DeviceInfo describe(const PhysicalDevice& device);

// Whether a module that declares this capability of SPIR-V may run. Null: it may; else what the device lacks.
const char* missing_capability(const PhysicalDevice& device, uint32_t capability);

}  // namespace kymo::device::vulkan
