// Describes a physical device for the runtime (DeviceInfo).

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/text.h"
#include "device/vulkan/physical_device.h"

namespace kymo::device::vulkan {
namespace {

std::string_view vendor_name(uint32_t id) {
  switch (id) {
    case 0x1002:
      return "AMD";
    case 0x10DE:
      return "NVIDIA";
    case 0x8086:
      return "Intel";
    case 0x13B5:
      return "Arm";
    case 0x5143:
      return "Qualcomm";
    case 0x106B:
      return "Apple";
    case 0x14E4:
      return "Broadcom";
    case 0x1010:
      return "Imagination";
    case VK_VENDOR_ID_MESA:
      return "Mesa";
    default:
      return "";
  }
}

// Stores a float as its exact ratio.
void set_period(DeviceInfo& info, float nanoseconds) {
  constexpr int kMantissaBits = 24;
  int exponent = 0;
  const float fraction = std::frexp(nanoseconds, &exponent);
  if (!(nanoseconds > 0) || exponent > kMantissaBits + 8) return;
  uint64_t numerator = static_cast<uint64_t>(std::ldexp(fraction, kMantissaBits));
  int shift = kMantissaBits - exponent;  // nanoseconds = numerator / 2^shift
  for (; shift > 0 && numerator % 2 == 0; --shift) numerator /= 2;
  info.tick_numerator = shift < 0 ? numerator << -shift : numerator;
  info.tick_denominator = shift > 0 ? uint64_t{1} << std::min(shift, 63) : 1;
}

void add_capabilities(const PhysicalDevice& device, std::vector<std::string>& words) {
  const Features& features = device.features;
  const VkSubgroupFeatureFlags subgroup = device.v11.subgroupSupportedOperations;
  const auto add = [&](bool there, const char* text) {
    if (there) words.emplace_back(text);
  };
  add(features.v12.shaderFloat16, "fp16");
  add(features.core.features.shaderFloat64, "fp64");
  add(features.v12.shaderInt8, "int8");
  add(features.core.features.shaderInt16, "int16");
  add(features.core.features.shaderInt64, "int64");
  add(features.v12.storageBuffer8BitAccess, "storage8");
  add(features.v11.storageBuffer16BitAccess, "storage16");
  add(features.v12.scalarBlockLayout, "scalar-layout");
  add(features.atomic_float.shaderBufferFloat32AtomicAdd, "atomic-float");
  add(features.v12.shaderBufferInt64Atomics, "atomic-int64");
  add((device.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
          (subgroup & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0,
      "subgroups");
  add(device.timestamps, "timestamps");
  add(device.calibrated_clock, "calibrated-clock");
  add(device.memory_budget, "memory-budget");
  add(device.push_descriptors, "push-descriptors");
}

}  // namespace

DeviceInfo describe(const PhysicalDevice& device) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  DeviceInfo info;
  info.name = device.properties.deviceName;
  info.vendor = vendor_name(device.properties.vendorID);
  if (info.vendor.empty()) info.vendor = base::format("{:#x}", device.properties.vendorID);
  info.driver = base::format("{} {} ({:#x}), Vulkan {}.{}.{}", device.v12.driverName, device.v12.driverInfo,
                             device.properties.driverVersion, VK_API_VERSION_MAJOR(device.version),
                             VK_API_VERSION_MINOR(device.version), VK_API_VERSION_PATCH(device.properties.apiVersion));
  info.uuid = base::hex(device.v11.deviceUUID);

  info.is_processor = device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  info.unified_memory = device.unified();
  info.total_memory = device.memory.memoryHeaps[device.device_heap()].size;
  info.recommended_max = info.total_memory - info.total_memory / 10;
  info.max_allocation = std::min<size_t>(device.largest_allocation, info.total_memory);
  info.max_group_threads = limits.maxComputeWorkGroupInvocations;
  info.max_group = {limits.maxComputeWorkGroupSize[0], limits.maxComputeWorkGroupSize[1],
                    limits.maxComputeWorkGroupSize[2]};
  info.execution_width = device.v11.subgroupSize;
  info.group_memory = limits.maxComputeSharedMemorySize;
  if (device.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
    info.compute_units = std::max(1u, std::thread::hardware_concurrency());
  add_capabilities(device, info.capabilities);
  set_period(info, limits.timestampPeriod);
  if (device.timestamp_bits != 0) info.clock_bits = device.timestamp_bits;
  return info;
}

const char* missing_capability(const PhysicalDevice& device, uint32_t capability) {
  const Features& on = device.features;
  const auto subgroup = [&](VkSubgroupFeatureFlagBits operation) {
    return (device.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                   (device.v11.subgroupSupportedOperations & operation) != 0
               ? VK_TRUE
               : VK_FALSE;
  };
  struct Need {
    uint32_t capability;
    VkBool32 there;
    const char* name;
  };
  const Need needs[] = {
      {9, on.v12.shaderFloat16, "16-bit floats (shaderFloat16)"},
      {10, on.core.features.shaderFloat64, "64-bit floats (shaderFloat64)"},
      {11, on.core.features.shaderInt64, "64-bit integers (shaderInt64)"},
      {12, on.v12.shaderBufferInt64Atomics, "atomics on 64-bit integers (shaderBufferInt64Atomics)"},
      {22, on.core.features.shaderInt16, "16-bit integers (shaderInt16)"},
      {39, on.v12.shaderInt8, "8-bit integers (shaderInt8)"},
      {61, subgroup(VK_SUBGROUP_FEATURE_BASIC_BIT), "subgroups in kernels"},
      {62, subgroup(VK_SUBGROUP_FEATURE_VOTE_BIT), "votes of subgroups"},
      {63, subgroup(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT), "arithmetic of subgroups"},
      {64, subgroup(VK_SUBGROUP_FEATURE_BALLOT_BIT), "ballots of subgroups"},
      {65, subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_BIT), "shuffles of subgroups"},
      {66, subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT), "relative shuffles of subgroups"},
      {67, subgroup(VK_SUBGROUP_FEATURE_CLUSTERED_BIT), "clustered operations of subgroups"},
      {68, subgroup(VK_SUBGROUP_FEATURE_QUAD_BIT), "quads of subgroups"},
      {4433, on.v11.storageBuffer16BitAccess, "16-bit storage (storageBuffer16BitAccess)"},
      {4434, on.v11.uniformAndStorageBuffer16BitAccess, "16-bit storage (uniformAndStorageBuffer16BitAccess)"},
      {4435, on.v11.storagePushConstant16, "16-bit push constants (storagePushConstant16)"},
      {4441, on.v11.variablePointersStorageBuffer, "variable pointers (variablePointersStorageBuffer)"},
      {4442, on.v11.variablePointers, "variable pointers (variablePointers)"},
      {4448, on.v12.storageBuffer8BitAccess, "8-bit storage (storageBuffer8BitAccess)"},
      {4449, on.v12.uniformAndStorageBuffer8BitAccess, "8-bit storage (uniformAndStorageBuffer8BitAccess)"},
      {4450, on.v12.storagePushConstant8, "8-bit push constants (storagePushConstant8)"},
      {5345, on.v12.vulkanMemoryModel, "the Vulkan memory model"},
      {5346, on.v12.vulkanMemoryModelDeviceScope, "the Vulkan memory model at the scope of the device"},
      {6033, on.atomic_float.shaderBufferFloat32AtomicAdd, "atomic addition of floats (VK_EXT_shader_atomic_float)"},
      {6034, on.atomic_float.shaderBufferFloat64AtomicAdd, "atomic addition of doubles (VK_EXT_shader_atomic_float)"},
  };
  for (const Need& need : needs)
    if (need.capability == capability && need.there != VK_TRUE) return need.name;
  return nullptr;
}

}  // namespace kymo::device::vulkan
