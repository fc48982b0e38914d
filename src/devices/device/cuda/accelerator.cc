// CUDA as a backend of the device runtime: load_cuda().

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "device/backend.h"
#include "device/cuda/api.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/program.h"
#include "device/cuda/queue.h"
#include "device/cuda/reflection.h"
#include "kymo/error.h"

namespace kymo::device {
namespace cuda {
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

// The properties of a device, as the driver reports them, without opening it.
int attribute_of(const Api& api, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(api, api.device_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

// 90 for compute capability 9.0.
int architecture_of(const Api& api, CUdevice device) {
  return attribute_of(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
         attribute_of(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

// `nvrtc_version`: 13000 for 13.0; 0 if there is no NVRTC: then CUDA C++ is not among the languages.
DeviceInfo describe_device(const Api& api, CUdevice device, int nvrtc_version) {
  const auto attribute = [&](CUdevice_attribute which) {
    return static_cast<uint64_t>(std::max(0, attribute_of(api, device, which)));
  };
  DeviceInfo info;
  std::array<char, 256> name{};
  check(api, api.device_name(name.data(), static_cast<int>(name.size() - 1), device), "cuDeviceGetName");
  info.name = name.data();
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

// The device memory that this process holds, from NVML (libnvidia-ml.so.1, part of the driver, opened at run time).
// CUDA itself reports only the free memory of the whole device, which other processes use too.
//
// `uuid` as in DeviceInfo. Empty if there is no NVML, or if NVML does not know this process (in a container with its
// own process ids). The first call takes about 10 ms, later ones 0.4 ms.
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

// One opened device: its primary context, its clock, and the objects that are created on it.
class CudaAccelerator final : public Accelerator {
 public:
  CudaAccelerator(const Api& api, CUdevice device, DeviceInfo info) : context_{api, device}, info_(std::move(info)) {
    pageable_lingers_ = attribute_of(api, device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
    open();
  }
  ~CudaAccelerator() override {
    if (context_.handle == nullptr) return;
    while_current(context_, [this] { clock_.reset(); });
    context_.api.context_release(context_.device);
  }

  const DeviceInfo& info() const override { return info_; }

  Address allocate(size_t bytes) override {
    const Current current(context_);
    CUdeviceptr address = 0;
    const CUresult result = context_.api.memory_allocate(&address, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return 0;
    check(context_.api, result, "cuMemAlloc");
    return address;
  }
  void release(Address address, size_t) noexcept override {
    while_current(context_, [&] { context_.api.memory_free(address); });
  }
  std::optional<size_t> driver_allocated() const override { return process_memory(info_.uuid); }

  void* allocate_host(size_t bytes) override {
    const Current current(context_);
    void* memory = nullptr;
    const CUresult result = context_.api.host_allocate(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
    check(context_.api, result, "cuMemHostAlloc");
    return memory;
  }
  void release_host(void* memory) noexcept override {
    while_current(context_, [&] { context_.api.host_free(memory); });
  }
  bool uses_foreign_memory() const override { return true; }  // the context is the one of all libraries

  std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<CudaQueue>(context_, *clock_, *timer_, *fill_, pageable_lingers_);
  }
  std::unique_ptr<Marker> make_marker(bool timing) override {
    return std::make_unique<CudaMarker>(context_, *clock_, timing);
  }

  // CUDA C++, or PTX. Text whose first directive is .version is PTX: it is assembled directly and needs no NVRTC.
  std::unique_ptr<Program> compile(const Source& source) override {
    if (source.language != Language::CudaCpp) throw NotAvailable("CUDA: this device compiles only CUDA C++ and PTX");
    const bool is_ptx = looks_like_ptx(source.text);
    const std::string ptx =
        is_ptx ? std::string(source.text)
               : Nvrtc::load(context_.api.version)
                     .compile(source.text, source.file, architecture_of(context_.api, context_.device), source.options);
    PtxProgram program;
    try {
      program = prepare_ptx(ptx);
    } catch (const Error& error) {
      throw CompileError(error.what(), {}, 0, 0, error.what());
    }
    std::vector<KernelInfo> kernels(source.kernels.begin(), source.kernels.end());
    std::vector<std::string> names;
    if (kernels.empty()) {
      kernels = reflect(program, is_ptx ? std::string_view() : source.text);
      for (const PtxEntry& entry : program.entries) names.push_back(entry.name);
    } else {
      check_translated(program, kernels);
      for (const KernelInfo& kernel : kernels) names.push_back(kernel.symbol);
    }
    const Current current(context_);
    std::vector<std::byte> cubin = assemble(context_, program.text, source.file);
    auto loaded =
        CudaProgram::load(context_, std::move(names), program.stamps, std::move(cubin), std::move(kernels), true);
    if (loaded == nullptr)
      throw DeviceError("CUDA: the driver cannot load the code that it has just assembled; update the driver");
    return loaded;
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) override {
    std::optional<UnpackedBinary> unpacked = unpack_binary(binary);
    if (!unpacked) return nullptr;
    const Current current(context_);
    return CudaProgram::load(context_, std::move(unpacked->names), unpacked->stamps,
                             {unpacked->cubin.begin(), unpacked->cubin.end()}, std::move(kernels), false);
  }

  base::ClockPair read_clock() override {
    const Current current(context_);
    return clock_->read();
  }

  // Throws DeviceError if the driver keeps the fault until the process ends, as the driver of CUDA 13 does.
  void reset() override {
    const Api& api = context_.api;
    timer_.reset();
    clock_.reset();
    fill_.reset();
    CUcontext now = nullptr;
    api.context_get(&now);
    if (now == context_.handle) api.context_set(nullptr);
    context_.handle = nullptr;
    api.context_release(context_.device);
    check(api, api.context_reset(context_.device), "cuDevicePrimaryCtxReset");
    try {
      open();
    } catch (const DeviceError& error) {
      context_.handle = nullptr;
      throw DeviceError(base::format(
          "CUDA: the driver keeps the fault until this process ends: restart the process ({})", error.what()));
    }
  }

 private:
  void open() {
    check(context_.api, context_.api.context_retain(&context_.handle, context_.device), "cuDevicePrimaryCtxRetain");
    const Current current(context_);
    clock_.emplace(context_);
    timer_.emplace(context_, *clock_);
    fill_.emplace(context_);
  }

  Context context_;
  DeviceInfo info_;
  bool pageable_lingers_;
  std::optional<EventClock> clock_;
  std::optional<TimerOffset> timer_;
  std::optional<PatternFill> fill_;
};

// load_cuda(): the driver as a whole.
class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(const Api& api) : api_(api) {
    check(api_, api_.device_count(&count_), "cuDeviceGetCount");
    if (count_ == 0)
      throw NotAvailable("CUDA: the driver is installed but has no device; does CUDA_VISIBLE_DEVICES hide it?");
  }

  std::string_view name() const override { return "cuda"; }
  int device_count() const override { return count_; }
  DeviceInfo describe(int index) override { return describe_device(api_, device(index), nvrtc_version()); }
  std::unique_ptr<Accelerator> open(int index) override {
    return std::make_unique<CudaAccelerator>(api_, device(index), describe(index));
  }

 private:
  CUdevice device(int index) const {
    CUdevice device = 0;
    check(api_, api_.device_get(&device, index), "cuDeviceGet");
    return device;
  }

  int nvrtc_version() const {
    try {
      return Nvrtc::load(api_.version).version();
    } catch (const NotAvailable&) {
      return 0;  // compile() reports what is missing
    }
  }

  const Api& api_;
  int count_ = 0;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Driver> load_cuda() { return std::make_unique<cuda::CudaDriver>(cuda::load_api()); }

}  // namespace kymo::device
