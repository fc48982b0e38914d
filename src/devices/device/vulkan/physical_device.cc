#include "device/vulkan/physical_device.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
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
}

Instance::~Instance() { api_.vkDestroyInstance(instance_, nullptr); }

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
  uint32_t count = 0;
  check(api_.vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(api_.vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "vkEnumeratePhysicalDevices");
  devices.resize(count);
  return devices;
}

namespace {

constexpr uint32_t kMaxQueues = 8;

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
  max_push_descriptors = push.maxPushDescriptors;  // 0 without the extension

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
  if (std::ranges::find(offered_, extension) == offered_.end()) return false;
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
  features.link();
  instance.api().vkGetPhysicalDeviceFeatures2(handle, &features.core);
  // All of them are turned on, except those that cost speed or memory.
  features.core.features.robustBufferAccess = VK_FALSE;
  features.v11.protectedMemory = VK_FALSE;
  features.v12.bufferDeviceAddressCaptureReplay = features.v12.bufferDeviceAddressMultiDevice = VK_FALSE;
  features.v13.robustImageAccess = VK_FALSE;
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

// ---- Description for the runtime (DeviceInfo) ----------------------------------------------------------------------

namespace {

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

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace kymo::device::vulkan {
namespace {

// Implementer and part: Neoverse V1, N2, V2, V3, N3; Cortex A510 to X925; A64FX; Cobalt 100.
constexpr std::array<uint32_t, 19> kWithSve = {0x41d40, 0x41d49, 0x41d4f, 0x41d84, 0x41d8e, 0x41d46, 0x41d47,
                                               0x41d48, 0x41d4d, 0x41d4e, 0x41d80, 0x41d81, 0x41d82, 0x41d85,
                                               0x41d87, 0x41d88, 0x41d8b, 0x46001, 0x6dd49};

// The number after the first "NAME : 0x"; 0: there is none.
uint32_t field(std::string_view text, std::string_view name) {
  const size_t line = text.find(name);
  if (line == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(line, std::min(text.find('\n', line), text.size()) - line);
  const size_t digits = rest.find("0x");
  uint32_t value = 0;
  if (digits != std::string_view::npos) std::from_chars(rest.data() + digits + 2, rest.data() + rest.size(), value, 16);
  return value;
}

// With open(), as LLVM does: a library that replaces this function to show LLVM another CPU also shows it here.
std::string read_cpuinfo() {
  std::string text;
  const int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  for (ssize_t got = 0; file >= 0 && (got = read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  if (file >= 0) close(file);
  return text;
}

bool cpu_has_sve() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kSve = 1ul << 22;  // HWCAP_SVE
  return (getauxval(AT_HWCAP) & kSve) != 0;
#else
  return true;  // this platform has no such query
#endif
}

}  // namespace

bool model_has_sve(std::string_view cpuinfo) {
  const uint32_t model = field(cpuinfo, "CPU implementer") << 12 | field(cpuinfo, "CPU part");
  return std::ranges::find(kWithSve, model) != kWithSve.end();
}

std::string llvmpipe_fault() {
  const char* trust = base::environment("KYMO_VULKAN_TRUST");
  if (cpu_has_sve() || (trust != nullptr && std::strcmp(trust, "1") == 0)) return "";
  if (!model_has_sve(read_cpuinfo())) return "";
  return "its compiler would use SVE instructions, which this CPU model has but this machine hides: kernels would "
         "crash; start the program with LD_PRELOAD=libkymo_plain_cpu.so, which shows the compiler another CPU model, "
         "or "
         "with KYMO_VULKAN_TRUST=1 to use the device anyway";
}

}  // namespace kymo::device::vulkan
