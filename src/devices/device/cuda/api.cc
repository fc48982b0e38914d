#include "device/cuda/api.h"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kPackage =
    "install NVIDIA's driver (Debian: nvidia-driver and libcuda1; Ubuntu: nvidia-driver-580)";

void* open_library(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NotAvailable(base::format("CUDA: {}; {}", dlerror(), kPackage));
  return library;
}

template <class Function>
void look_up(void* library, const std::string& library_name, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr)
    throw NotAvailable(
        base::format("CUDA: {} has no function {}: it is not a CUDA driver, or it is older than CUDA 11; {}",
                     library_name, symbol, kPackage));
}

// "580.159.04" from /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04
std::string file_version(const void* function) {
  Dl_info info{};
  char path[PATH_MAX];
  if (dladdr(function, &info) == 0 || realpath(info.dli_fname, path) == nullptr) return {};
  const std::string_view name = path;
  constexpr std::string_view kStem = "libcuda.so.";
  const size_t stem = name.rfind(kStem);
  return stem == std::string_view::npos ? std::string() : std::string(name.substr(stem + kStem.size()));
}

void initialise(Api& api, const std::string& name) {
  const CUresult result = api.init(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    throw NotAvailable(base::format(
        "CUDA: no device (cuInit: {}); check that nvidia-smi lists one and that CUDA_VISIBLE_DEVICES does not "
        "hide it",
        error_name(api, result)));
  // Numbers, since older headers lack some of the names.
  constexpr int kStub = 34, kMismatch = 803, kUnsupported = 804;
  const char* remedy = "see nvidia-smi and the kernel's log (dmesg | grep -i nvrm)";
  if (result == kStub) remedy = "that is the toolkit's stub for linking: use the driver's own library";
  if (result == kMismatch)
    remedy = "the kernel module and the library have different versions: reboot, or reload the module";
  if (result == kUnsupported) remedy = "this device does not support that compatibility library: remove cuda-compat";
  if (result != CUDA_SUCCESS)
    throw NotAvailable(base::format("CUDA: {} does not start (cuInit: {}, {}); {}", name, error_name(api, result),
                                    error_text(api, result), remedy));
}

}  // namespace

const Api& load_api() {
  static std::mutex mutex;
  // By name. Never unloaded or destroyed, because the driver has its own threads.
  static auto& all_loaded = *new std::map<std::string, const Api*>;
  const char* chosen = base::environment("KYMO_CUDA_LIBRARY");
  const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : kLibrary;
  const std::lock_guard lock(mutex);
  const Api*& loaded = all_loaded[name];
  if (loaded != nullptr) return *loaded;
  void* library = open_library(name);
  Api api;
  try {
#define KYMO_CUDA_LOOK_UP(member, symbol, parameters) look_up(library, name, symbol, api.member);
    KYMO_CUDA_FUNCTIONS(KYMO_CUDA_LOOK_UP)
#undef KYMO_CUDA_LOOK_UP
    initialise(api, name);
  } catch (...) {
    dlclose(library);
    throw;
  }
  // Exists since 11.4. Only this version distinguishes the parts of a divided device (MIG).
  if (void* newer = dlsym(library, "cuDeviceGetUuid_v2"))
    api.device_uuid = reinterpret_cast<decltype(api.device_uuid)>(newer);
  api.driver_version(&api.version);
  api.driver_name = file_version(reinterpret_cast<const void*>(api.init));
  loaded = new Api(std::move(api));
  return *loaded;
}

std::string error_name(const Api& api, CUresult result) {
  const char* name = nullptr;
  if (api.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "an error without a name";
  return base::format("{} ({})", name, static_cast<int>(result));
}

std::string error_text(const Api& api, CUresult result) {
  const char* text = nullptr;
  if (api.error_string(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return text;
}

bool is_fault(CUresult result) {
  // Numbers, since older headers lack some of the names.
  switch (static_cast<int>(result)) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
      return true;
    default:
      return false;
  }
}

void throw_error(const Api& api, CUresult result, const char* call) {
  const char* remedy = "";
  if (is_fault(result))
    remedy =
        "; from now on every call on this device fails until device::reset(); if the driver refuses the reset, restart "
        "the process";
  if (result == CUDA_ERROR_INVALID_VALUE) remedy = "; a size or an address is out of range for the device";
  if (result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    remedy = "; the group needs more registers or group memory than the device has: use a smaller group";
  throw DeviceError(base::format("{}: {}: {}{}", call, error_name(api, result), error_text(api, result), remedy));
}

}  // namespace kymo::device::cuda
