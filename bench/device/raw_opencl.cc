#include "device/raw_launch.h"

#ifdef KYMO_HAVE_OPENCL
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <chrono>
#include <vector>

namespace bench {
namespace {

#define KYMO_CL(name) reinterpret_cast<decltype(&name)>(dlsym(library_, #name))

constexpr const char* kOpenClSource = "__kernel void scale(__global float* x, float f) { x[get_global_id(0)] *= f; }";

class RawOpenCl final : public RawLaunch {
 public:
  RawOpenCl() : library_(dlopen("libOpenCL.so.1", RTLD_NOW)) {
    if (library_ == nullptr) return;
    cl_device_id device = find(CL_DEVICE_TYPE_GPU);
    if (device == nullptr) device = find(CL_DEVICE_TYPE_ALL);
    if (device == nullptr) return;
    context_ = KYMO_CL(clCreateContext)(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue_ = KYMO_CL(clCreateCommandQueueWithProperties)(context_, device, nullptr, nullptr);
    const cl_program program =
        KYMO_CL(clCreateProgramWithSource)(context_, 1, const_cast<const char**>(&kOpenClSource), nullptr, nullptr);
    if (KYMO_CL(clBuildProgram)(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) return;
    kernel_ = KYMO_CL(clCreateKernel)(program, "scale", nullptr);
    memory_ = KYMO_CL(clSVMAlloc)(context_, CL_MEM_READ_WRITE, 64, 0);
    set_pointer_ = KYMO_CL(clSetKernelArgSVMPointer);
    set_ = KYMO_CL(clSetKernelArg);
    enqueue_ = KYMO_CL(clEnqueueNDRangeKernel);
  }
  bool made() const { return enqueue_ != nullptr && memory_ != nullptr; }

  void launch() override {
    const float factor = 1;
    const size_t threads = 16;
    set_pointer_(kernel_, 0, memory_);
    set_(kernel_, 1, sizeof factor, &factor);
    enqueue_(queue_, kernel_, 1, nullptr, &threads, &threads, 0, nullptr, nullptr);
  }
  void synchronize() override { KYMO_CL(clFinish)(queue_); }

  double upload_seconds(size_t bytes) override {
    const cl_mem pinned = KYMO_CL(clCreateBuffer)(context_, CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, nullptr);
    void* host =
        KYMO_CL(clEnqueueMapBuffer)(queue_, pinned, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, nullptr);
    void* there = KYMO_CL(clSVMAlloc)(context_, CL_MEM_READ_WRITE, bytes, 0);
    if (host == nullptr || there == nullptr) return 0;
    for (size_t i = 0; i < bytes; i += 4096) static_cast<char*>(host)[i] = 1;
    double best = 1e9;
    for (int i = 0; i < 7; ++i) {
      const auto began = std::chrono::steady_clock::now();
      KYMO_CL(clEnqueueSVMMemcpy)(queue_, CL_TRUE, there, host, bytes, 0, nullptr, nullptr);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    KYMO_CL(clEnqueueUnmapMemObject)(queue_, pinned, host, 0, nullptr, nullptr);
    synchronize();
    KYMO_CL(clReleaseMemObject)(pinned);
    KYMO_CL(clSVMFree)(context_, there);
    return best;
  }

 private:
  cl_device_id find(cl_device_type type) const {
    cl_uint count = 0;
    KYMO_CL(clGetPlatformIDs)(0, nullptr, &count);
    std::vector<cl_platform_id> platforms(count);
    if (count != 0) KYMO_CL(clGetPlatformIDs)(count, platforms.data(), nullptr);
    for (const cl_platform_id platform : platforms) {
      cl_device_id device = nullptr;
      if (KYMO_CL(clGetDeviceIDs)(platform, type, 1, &device, nullptr) == CL_SUCCESS) return device;
    }
    return nullptr;
  }

  void* library_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_kernel kernel_ = nullptr;
  void* memory_ = nullptr;
  decltype(&clSetKernelArgSVMPointer) set_pointer_ = nullptr;
  decltype(&clSetKernelArg) set_ = nullptr;
  decltype(&clEnqueueNDRangeKernel) enqueue_ = nullptr;
};

}  // namespace

std::unique_ptr<RawLaunch> raw_opencl() {
  auto raw = std::make_unique<RawOpenCl>();
  if (!raw->made()) return nullptr;
  return raw;
}

}  // namespace bench

#else

namespace bench {
std::unique_ptr<RawLaunch> raw_opencl() { return nullptr; }
}  // namespace bench

#endif
