// A physical device as Kymo uses it: its properties, the extensions and features that are turned on, and whether it is
// usable at all. Immutable once created.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "device/vulkan/api.h"

namespace kymo::device::vulkan {

// The Vulkan instance: the loader's state and the physical devices.
class Instance {
 public:
  Instance();  // throws NotAvailable
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceApi& api() const { return api_; }
  uint32_t version() const { return version_; }  // requested version: 1.2 or 1.3
  std::vector<VkPhysicalDevice> physical_devices() const;

 private:
  LibraryApi library_;
  InstanceApi api_;
  uint32_t version_ = 0;
  VkInstance instance_ = VK_NULL_HANDLE;
};

// The features that are turned on if the device has them, as one chain for vkCreateDevice.
struct Features {
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{};

  bool with_v13 = false, with_atomic_float = false;

  // Links the parts of this object into the chain: the object must not move while the chain is used.
  void link();
};

struct PhysicalDevice {
  PhysicalDevice(const Instance& instance, VkPhysicalDevice device);

  VkPhysicalDevice handle = VK_NULL_HANDLE;
  uint32_t version = 0;  // of the API: the lower of the device's and the application's
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceMemoryProperties memory{};
  uint64_t largest_allocation = 0;
  uint32_t max_push_descriptors = 0;  // 0: not supported

  bool push_descriptors = false, calibrated_clock = false, memory_budget = false;
  uint64_t host_import_alignment = 0;  // of host memory that the device can use directly; 0: it cannot
  bool timestamps = false;
  bool folds_zeros = false;      // its compiler computes x * 0 wrong (spirv_exact.h)
  bool slow_timestamps = false;  // a timestamp takes as long as a small operation
  Features features;
  std::vector<const char*> extensions;  // for opening the device

  uint32_t family = 0;  // of queues
  uint32_t queue_count = 0;
  uint32_t timestamp_bits = 0;

  std::string unusable;  // the reason; empty: it is usable

  bool unified() const {
    return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
           properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
  uint32_t device_heap() const;  // the largest heap of the device itself
  // The first type among `allowed` with all of `wanted`, else with all of `needed`; empty: there is none.
  std::optional<uint32_t> memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted,
                                      VkMemoryPropertyFlags needed) const;

 private:
  void choose_extensions(const Instance& instance);
  void choose_features(const Instance& instance);
  void choose_family(const Instance& instance);
  bool has(const char* extension);  // if it has it, the extension is turned on

  std::vector<std::string> offered_;
};

// The usable devices: discrete first, then integrated, the CPU last. Throws NotAvailable, with the reasons, if there is
// none.
std::vector<PhysicalDevice> usable_devices(const Instance& instance);

// Without the languages: they depend on the compilers that are installed.
DeviceInfo describe(const PhysicalDevice& device);

// Whether a module with this SPIR-V capability can run. Null: it can; otherwise the name of the missing feature.
const char* missing_capability(const PhysicalDevice& device, uint32_t capability);

// Driver bugs that would crash the process. Kymo does not use such devices; KYMO_VULKAN_TRUST=1 makes it use them
// anyway.
//
// The reason why Mesa's driver for the CPU must not be used here; empty: it can be used.
//
// LLVM, which compiles its kernels, goes by the CPU model. A virtual machine or a sandbox may hide the SVE instructions
// of a model that has them. Kernels that divide integers (and some others) then still contain SVE instructions, and end
// the process with SIGILL: https://github.com/llvm/llvm-project/issues/130509.
std::string llvmpipe_fault();

// Whether a Linux `cpuinfo` shows an Arm model for which LLVM assumes SVE. Pure.
bool model_has_sve(std::string_view cpuinfo);

}  // namespace kymo::device::vulkan
