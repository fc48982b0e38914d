#include "device/cuda/accelerator.h"

#include "base/text.h"
#include "device/cuda/device_info.h"
#include "device/cuda/marker.h"
#include "device/cuda/nvml.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/program.h"
#include "device/cuda/program_binary.h"
#include "device/cuda/queue.h"
#include "device/cuda/reflection.h"

namespace kymo::device::cuda {

CudaAccelerator::CudaAccelerator(const Api& api, CUdevice device, DeviceInfo info)
    : context_{api, device}, info_(std::move(info)) {
  pageable_lingers_ = attribute_of(api, device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
  open();
}

void CudaAccelerator::open() {
  check(context_.api, context_.api.context_retain(&context_.handle, context_.device), "cuDevicePrimaryCtxRetain");
  const Current current(context_);
  clock_.emplace(context_);
  timer_.emplace(context_, *clock_);
  fill_.emplace(context_);
}

CudaAccelerator::~CudaAccelerator() {
  if (context_.handle == nullptr) return;
  while_current(context_, [this] { clock_.reset(); });
  context_.api.context_release(context_.device);
}

Address CudaAccelerator::allocate(size_t bytes) {
  const Current current(context_);
  CUdeviceptr address = 0;
  const CUresult result = context_.api.memory_allocate(&address, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return 0;
  check(context_.api, result, "cuMemAlloc");
  return address;
}

void CudaAccelerator::release(Address address, size_t) noexcept {
  while_current(context_, [&] { context_.api.memory_free(address); });
}

std::optional<size_t> CudaAccelerator::driver_allocated() const { return process_memory(info_.uuid); }

void* CudaAccelerator::allocate_host(size_t bytes) {
  const Current current(context_);
  void* memory = nullptr;
  const CUresult result = context_.api.host_allocate(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  check(context_.api, result, "cuMemHostAlloc");
  return memory;
}

void CudaAccelerator::release_host(void* memory) noexcept {
  while_current(context_, [&] { context_.api.host_free(memory); });
}

std::unique_ptr<Queue> CudaAccelerator::make_queue() {
  return std::make_unique<CudaQueue>(context_, *clock_, *timer_, *fill_, pageable_lingers_);
}

std::unique_ptr<Marker> CudaAccelerator::make_marker(bool timing) {
  return std::make_unique<CudaMarker>(context_, *clock_, timing);
}

std::unique_ptr<Program> CudaAccelerator::compile(const Source& source) {
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

std::unique_ptr<Program> CudaAccelerator::load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) {
  std::optional<UnpackedBinary> unpacked = unpack_binary(binary);
  if (!unpacked) return nullptr;
  const Current current(context_);
  return CudaProgram::load(context_, std::move(unpacked->names), unpacked->stamps,
                           {unpacked->cubin.begin(), unpacked->cubin.end()}, std::move(kernels), false);
}

base::ClockPair CudaAccelerator::read_clock() {
  const Current current(context_);
  return clock_->read();
}

void CudaAccelerator::reset() {
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
    throw DeviceError(base::format("CUDA: the driver keeps the fault until this process ends: restart the process ({})",
                                   error.what()));
  }
}

}  // namespace kymo::device::cuda
