#include "device/raw_launch.h"

#if defined(KYMO_HAVE_CUDA) && defined(KYMO_HAVE_NVRTC)
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <chrono>
#include <vector>

namespace bench {
namespace {

template <class F>
F* symbol(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define KYMO_TEXT_(x) #x
#define KYMO_TEXT(x) KYMO_TEXT_(x)
// By the name that the header gives it: cuMemAlloc is cuMemAlloc_v2.
#define KYMO_CUDA(name) symbol<decltype(name)>(driver_, KYMO_TEXT(name))

constexpr const char* kCudaSource =
    R"(extern "C" __global__ void scale(float* x, float f) { x[blockIdx.x * blockDim.x + threadIdx.x] *= f; })";

class RawCuda final : public RawLaunch {
 public:
  RawCuda() : driver_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (driver_ == nullptr || KYMO_CUDA(cuInit)(0) != CUDA_SUCCESS) return;
    CUdevice device;
    CUcontext context;
    if (KYMO_CUDA(cuDeviceGet)(&device, 0) != CUDA_SUCCESS) return;
    KYMO_CUDA(cuDevicePrimaryCtxRetain)(&context, device);
    KYMO_CUDA(cuCtxSetCurrent)(context);
    const std::string code = compile();
    if (code.empty() || KYMO_CUDA(cuModuleLoadData)(&module_, code.c_str()) != CUDA_SUCCESS) return;
    KYMO_CUDA(cuModuleGetFunction)(&function_, module_, "scale");
    KYMO_CUDA(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING);
    KYMO_CUDA(cuMemAlloc)(&memory_, 64);
    launch_ = KYMO_CUDA(cuLaunchKernel);
  }
  bool made() const { return launch_ != nullptr; }

  void launch() override {
    float factor = 1;
    void* arguments[] = {&memory_, &factor};
    launch_(function_, 1, 1, 1, 16, 1, 1, 0, stream_, arguments, nullptr);
  }
  void synchronize() override { KYMO_CUDA(cuStreamSynchronize)(stream_); }

  double upload_seconds(size_t bytes) override {
    void* host = nullptr;
    CUdeviceptr there = 0;
    if (KYMO_CUDA(cuMemHostAlloc)(&host, bytes, 0) != CUDA_SUCCESS ||
        KYMO_CUDA(cuMemAlloc)(&there, bytes) != CUDA_SUCCESS)
      return 0;
    double best = 1e9;
    for (int i = 0; i < 7; ++i) {
      const auto began = std::chrono::steady_clock::now();
      KYMO_CUDA(cuMemcpyHtoDAsync)(there, host, bytes, stream_);
      synchronize();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    KYMO_CUDA(cuMemFreeHost)(host);
    KYMO_CUDA(cuMemFree)(there);
    return best;
  }

 private:
  static std::string compile() {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return {};
    nvrtcProgram program;
    symbol<decltype(nvrtcCreateProgram)>(library, "nvrtcCreateProgram")(&program, kCudaSource, "raw", 0, nullptr,
                                                                        nullptr);
    if (symbol<decltype(nvrtcCompileProgram)>(library, "nvrtcCompileProgram")(program, 0, nullptr) != NVRTC_SUCCESS)
      return {};
    size_t size = 0;
    symbol<decltype(nvrtcGetPTXSize)>(library, "nvrtcGetPTXSize")(program, &size);
    std::string text(size, '\0');
    symbol<decltype(nvrtcGetPTX)>(library, "nvrtcGetPTX")(program, text.data());
    return text;
  }

  void* driver_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  decltype(&cuLaunchKernel) launch_ = nullptr;
};

}  // namespace

std::unique_ptr<RawLaunch> raw_cuda() {
  auto raw = std::make_unique<RawCuda>();
  if (!raw->made()) return nullptr;
  return raw;
}

}  // namespace bench

#else

namespace bench {
std::unique_ptr<RawLaunch> raw_cuda() { return nullptr; }
}  // namespace bench

#endif
