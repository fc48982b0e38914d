#include "device/vulkan/physical_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "device/vulkan/driver_faults.h"
#include "device/vulkan/result.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

constexpr uint32_t kMaxQueues = 8;

bool hidden(std::string_view extension) {
  const char* list = base::environment("KYMO_VULKAN_HIDE");
  if (list == nullptr) return false;
  std::string_view rest = list;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == extension) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

int rank(const PhysicalDevice& device) {
  switch (device.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 4;
    default:
      return 3;
  }
}

}  // namespace

void Features::link() {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  atomic_float.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT;
  core.pNext = &v11;
  v11.pNext = &v12;
  void** end = &v12.pNext;
  const auto append = [&](bool with, auto& part) {
    if (!with) return;
    *end = &part;
    end = &part.pNext;
  };
  append(with_v13, v13);
  append(with_atomic_float, atomic_float);
  append(with_robustness, robustness);
  *end = nullptr;
}

PhysicalDevice::PhysicalDevice(const Instance& instance, VkPhysicalDevice device) : handle(device) {
  const InstanceApi& api = instance.api();
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  auto basic = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  api.vkGetPhysicalDeviceProperties2(handle, &basic);
  properties = basic.properties;
  version = std::min(properties.apiVersion, instance.version());
  if (properties.apiVersion < VK_API_VERSION_1_2) {
    unusable = base::format("its driver has Vulkan {}.{}, but Kymo needs 1.2: update it",
                            VK_API_VERSION_MAJOR(properties.apiVersion), VK_API_VERSION_MINOR(properties.apiVersion));
    return;
  }
  auto push = structure<VkPhysicalDevicePushDescriptorPropertiesKHR>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR);
  auto maintenance4 =
      structure<VkPhysicalDeviceMaintenance4Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
  choose_extensions(instance);
  basic.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = push_descriptors ? &push : nullptr;
  if (version >= VK_API_VERSION_1_3) {
    maintenance4.pNext = v12.pNext;
    v12.pNext = &maintenance4;
  }
  api.vkGetPhysicalDeviceProperties2(handle, &basic);
  v11.pNext = v12.pNext = nullptr;
  max_push_descriptors = push.maxPushDescriptors;

  auto heaps = structure<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  api.vkGetPhysicalDeviceMemoryProperties2(handle, &heaps);
  memory = heaps.memoryProperties;
  largest_allocation = std::min<uint64_t>(v11.maxMemoryAllocationSize, memory.memoryHeaps[device_heap()].size);
  if (maintenance4.maxBufferSize != 0) largest_allocation = std::min(largest_allocation, maintenance4.maxBufferSize);

  choose_features(instance);
  choose_family(instance);
  if (unusable.empty() && v12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) unusable = llvmpipe_fault();
  folds_zeros = v12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  slow_timestamps = v12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  timestamps = timestamp_bits != 0 && features.v12.hostQueryReset == VK_TRUE;
  calibrated_clock = calibrated_clock && timestamps;
}

bool PhysicalDevice::has(const char* extension) {
  if (std::ranges::find(offered_, extension) == offered_.end() || hidden(extension)) return false;
  extensions.push_back(extension);
  return true;
}

void PhysicalDevice::choose_extensions(const Instance& instance) {
  const auto& list = instance.api().vkEnumerateDeviceExtensionProperties;
  uint32_t count = 0;
  check(list(handle, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties");
  std::vector<VkExtensionProperties> found(count);
  check(list(handle, nullptr, &count, found.data()), "vkEnumerateDeviceExtensionProperties");
  found.resize(count);
  for (const VkExtensionProperties& extension : found) offered_.emplace_back(extension.extensionName);

  push_descriptors = has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  memory_budget = has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  calibrated_clock = has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
  if (unified() && has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    auto import = structure<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
    auto all = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    all.pNext = &import;
    instance.api().vkGetPhysicalDeviceProperties2(handle, &all);
    host_import_alignment = import.minImportedHostPointerAlignment;
  }
}

void PhysicalDevice::choose_features(const Instance& instance) {
  features.with_v13 = version >= VK_API_VERSION_1_3;
  features.with_atomic_float = has(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  features.with_robustness = has(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME);
  Features there = features;
  there.link();
  instance.api().vkGetPhysicalDeviceFeatures2(handle, &there.core);

  // Only features that kernels can use. Some of the others cost speed (robustBufferAccess) or memory.
#define KYMO_VULKAN_ENABLE(part, feature) features.part.feature = there.part.feature
  KYMO_VULKAN_ENABLE(core.features, shaderFloat64);
  KYMO_VULKAN_ENABLE(core.features, shaderInt64);
  KYMO_VULKAN_ENABLE(core.features, shaderInt16);
  KYMO_VULKAN_ENABLE(v11, storageBuffer16BitAccess);
  KYMO_VULKAN_ENABLE(v11, uniformAndStorageBuffer16BitAccess);
  KYMO_VULKAN_ENABLE(v11, storagePushConstant16);
  KYMO_VULKAN_ENABLE(v11, variablePointersStorageBuffer);
  KYMO_VULKAN_ENABLE(v11, variablePointers);
  KYMO_VULKAN_ENABLE(v12, storageBuffer8BitAccess);
  KYMO_VULKAN_ENABLE(v12, uniformAndStorageBuffer8BitAccess);
  KYMO_VULKAN_ENABLE(v12, storagePushConstant8);
  KYMO_VULKAN_ENABLE(v12, shaderBufferInt64Atomics);
  KYMO_VULKAN_ENABLE(v12, shaderSharedInt64Atomics);
  KYMO_VULKAN_ENABLE(v12, shaderFloat16);
  KYMO_VULKAN_ENABLE(v12, shaderInt8);
  KYMO_VULKAN_ENABLE(v12, scalarBlockLayout);
  KYMO_VULKAN_ENABLE(v12, uniformBufferStandardLayout);
  KYMO_VULKAN_ENABLE(v12, shaderSubgroupExtendedTypes);
  KYMO_VULKAN_ENABLE(v12, hostQueryReset);
  KYMO_VULKAN_ENABLE(v12, timelineSemaphore);
  KYMO_VULKAN_ENABLE(v12, bufferDeviceAddress);
  KYMO_VULKAN_ENABLE(v12, vulkanMemoryModel);
  KYMO_VULKAN_ENABLE(v12, vulkanMemoryModelDeviceScope);
  KYMO_VULKAN_ENABLE(v13, subgroupSizeControl);
  KYMO_VULKAN_ENABLE(v13, computeFullSubgroups);
  KYMO_VULKAN_ENABLE(v13, maintenance4);
  KYMO_VULKAN_ENABLE(v13, shaderIntegerDotProduct);
  KYMO_VULKAN_ENABLE(v13, shaderZeroInitializeWorkgroupMemory);
  KYMO_VULKAN_ENABLE(v13, shaderTerminateInvocation);
  KYMO_VULKAN_ENABLE(atomic_float, shaderBufferFloat32Atomics);
  KYMO_VULKAN_ENABLE(atomic_float, shaderBufferFloat32AtomicAdd);
  KYMO_VULKAN_ENABLE(atomic_float, shaderBufferFloat64Atomics);
  KYMO_VULKAN_ENABLE(atomic_float, shaderBufferFloat64AtomicAdd);
  KYMO_VULKAN_ENABLE(atomic_float, shaderSharedFloat32Atomics);
  KYMO_VULKAN_ENABLE(atomic_float, shaderSharedFloat32AtomicAdd);
  KYMO_VULKAN_ENABLE(robustness, nullDescriptor);
#undef KYMO_VULKAN_ENABLE
  null_descriptors = features.robustness.nullDescriptor == VK_TRUE;
  if (features.v12.bufferDeviceAddress != VK_TRUE)
    unusable = "its driver lacks the feature bufferDeviceAddress: update it";
  if (features.v12.timelineSemaphore != VK_TRUE) unusable = "its driver lacks the feature timelineSemaphore: update it";
}

void PhysicalDevice::choose_family(const Instance& instance) {
  uint32_t count = 0;
  instance.api().vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  instance.api().vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, families.data());
  // A family without graphics is preferred because it does not disturb the display. A family with timestamps is
  // preferred even more.
  int best = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFamilyProperties& candidate = families[i];
    if ((candidate.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || candidate.queueCount == 0) continue;
    const int score =
        (candidate.timestampValidBits != 0 ? 2 : 0) + ((candidate.queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0 ? 1 : 0);
    if (score <= best) continue;
    best = score;
    family = i;
    queue_count = std::min(candidate.queueCount, kMaxQueues);
    timestamp_bits = candidate.timestampValidBits;
  }
  if (best < 0 && unusable.empty()) unusable = "it has no queue for compute";
}

uint32_t PhysicalDevice::device_heap() const {
  uint32_t best = 0;
  VkDeviceSize largest = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0 || heap.size <= largest) continue;
    largest = heap.size;
    best = i;
  }
  return best;
}

std::optional<uint32_t> PhysicalDevice::memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted,
                                                    VkMemoryPropertyFlags needed) const {
  for (const VkMemoryPropertyFlags flags : {wanted, needed})
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
      if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & flags) == flags) return i;
  return std::nullopt;
}

std::vector<PhysicalDevice> usable_devices(const Instance& instance) {
  std::vector<PhysicalDevice> devices;
  std::string reasons;
  for (const VkPhysicalDevice handle : instance.physical_devices()) {
    PhysicalDevice device(instance, handle);
    if (device.unusable.empty())
      devices.push_back(std::move(device));
    else
      reasons += base::format("{}{}: {}", reasons.empty() ? "" : "; ", device.properties.deviceName, device.unusable);
  }
  if (devices.empty() && reasons.empty())
    throw NotAvailable(
        "vulkan: no device found: install the driver of your device, or Mesa's for the CPU (Debian: "
        "mesa-vulkan-drivers)");
  if (devices.empty()) throw NotAvailable(base::format("vulkan: no device can be used: {}", reasons));
  std::ranges::stable_sort(devices, {}, rank);
  return devices;
}

}  // namespace kymo::device::vulkan
