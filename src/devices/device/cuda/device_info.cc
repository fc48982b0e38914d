#include "device/cuda/device_info.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "device/cuda/errors.h"

namespace kymo::device::cuda {
namespace {

constexpr size_t kLeastReserve = size_t{512} << 20;  // for a context with its code, stacks and heaps
constexpr size_t kReserveShare = 32;

// All memory except a reserve for the driver and the display. If the memory is the host's, three quarters of it.
size_t recommended(size_t total, bool unified) {
  if (unified) return total / 4 * 3;
  return std::max(total / 2, total - std::min(total, std::max(kLeastReserve, total / kReserveShare)));
}

std::string uuid_of(const Api& api, CUdevice device) {
  CUuuid uuid{};
  check(api, api.device_uuid(&uuid, device), "cuDeviceGetUuid");
  return base::hex({reinterpret_cast<const uint8_t*>(uuid.bytes), sizeof uuid.bytes});
}

std::string version_text(int version) { return base::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

int attribute_of(const Api& api, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(api, api.device_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

int architecture_of(const Api& api, CUdevice device) {
  return attribute_of(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
         attribute_of(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

DeviceInfo describe_device(const Api& api, CUdevice device, int nvrtc_version) {
  const auto attribute = [&](CUdevice_attribute which) {
    return static_cast<uint64_t>(std::max(0, attribute_of(api, device, which)));
  };
  DeviceInfo info;
  std::array<char, 256> name{};
  check(api, api.device_name(name.data(), static_cast<int>(name.size() - 1), device), "cuDeviceGetName");
  info.name = name.data();
  info.vendor = "NVIDIA";
  info.driver =
      base::format("{}{}CUDA {}", api.driver_name, api.driver_name.empty() ? "" : ", ", version_text(api.version));
  if (nvrtc_version != 0) info.driver += ", NVRTC " + version_text(nvrtc_version);
  info.uuid = uuid_of(api, device);
  info.unified_memory = attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
  check(api, api.device_total_memory(&info.total_memory, device), "cuDeviceTotalMem");
  info.recommended_max = recommended(info.total_memory, info.unified_memory);
  info.max_allocation = info.total_memory;
  info.partial_groups_are_free = true;
  info.max_group_threads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.max_group = {attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                    attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  info.execution_width = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  info.group_memory = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.compute_units = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  if (nvrtc_version != 0) info.languages.push_back(Language::CudaCpp);
  const int architecture = architecture_of(api, device);
  info.capabilities = {base::format("sm_{}", architecture), "fp64", "int64", "timestamps"};
  if (architecture >= 53) info.capabilities.emplace_back("fp16");
  if (architecture >= 80) info.capabilities.emplace_back("bf16");
  return info;
}

}  // namespace kymo::device::cuda
