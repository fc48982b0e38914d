#include "device/cuda/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

namespace kymo::device::cuda {
namespace {

constexpr int kSuccess = 0, kInsufficientSize = 7;

struct ProcessInfo {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

struct Nvml {
  int (*init)() = nullptr;
  int (*device_by_uuid)(const char*, void**) = nullptr;
  int (*processes)(void*, unsigned*, ProcessInfo*) = nullptr;
  bool ready = false;
};

Nvml open_nvml() {
  Nvml nvml;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nvml;
  const auto look_up = [library](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    return function != nullptr;
  };
  nvml.ready = look_up("nvmlInit_v2", nvml.init) && look_up("nvmlDeviceGetHandleByUUID", nvml.device_by_uuid) &&
               (look_up("nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes) ||
                look_up("nvmlDeviceGetComputeRunningProcesses_v2", nvml.processes)) &&
               nvml.init() == kSuccess;
  return nvml;
}

// 8-4-4-4-12 digits with hyphens.
std::string with_hyphens(const std::string& uuid) {
  if (uuid.size() != 32) return uuid;
  return uuid.substr(0, 8) + "-" + uuid.substr(8, 4) + "-" + uuid.substr(12, 4) + "-" + uuid.substr(16, 4) + "-" +
         uuid.substr(20);
}

}  // namespace

std::optional<size_t> process_memory(const std::string& uuid) {
  static const Nvml nvml = open_nvml();
  if (!nvml.ready) return {};
  void* device = nullptr;
  if (nvml.device_by_uuid(("GPU-" + with_hyphens(uuid)).c_str(), &device) != kSuccess &&
      nvml.device_by_uuid(("MIG-" + with_hyphens(uuid)).c_str(), &device) != kSuccess)
    return {};
  std::vector<ProcessInfo> processes(32);
  auto count = static_cast<unsigned>(processes.size());
  int result = nvml.processes(device, &count, processes.data());
  if (result == kInsufficientSize) {
    processes.resize(count + 16);
    count = static_cast<unsigned>(processes.size());
    result = nvml.processes(device, &count, processes.data());
  }
  if (result != kSuccess) return {};
  const auto self = static_cast<unsigned>(getpid());
  for (unsigned i = 0; i < count; ++i)
    if (processes[i].pid == self && processes[i].used_bytes != ~0ULL) return processes[i].used_bytes;
  return {};
}

}  // namespace kymo::device::cuda
