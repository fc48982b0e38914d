// The functions of libOpenCL, looked up at run time: Kymo also runs if no OpenCL is installed.
//
// KYMO_OPENCL_LIBRARY in the environment names another library than libOpenCL.so.1, by path or by soname. An opened
// library is never closed: drivers have their own threads and do not survive an unload.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <memory>

namespace kymo::device::opencl {

#define KYMO_OPENCL_FUNCTIONS(DO)        \
  DO(clGetPlatformIDs)                   \
  DO(clGetPlatformInfo)                  \
  DO(clGetDeviceIDs)                     \
  DO(clGetDeviceInfo)                    \
  DO(clCreateContext)                    \
  DO(clReleaseContext)                   \
  DO(clCreateCommandQueueWithProperties) \
  DO(clRetainCommandQueue)               \
  DO(clReleaseCommandQueue)              \
  DO(clCreateBuffer)                     \
  DO(clReleaseMemObject)                 \
  DO(clEnqueueMapBuffer)                 \
  DO(clEnqueueUnmapMemObject)            \
  DO(clSVMAlloc)                         \
  DO(clSVMFree)                          \
  DO(clEnqueueSVMMemcpy)                 \
  DO(clEnqueueSVMMemFill)                \
  DO(clCreateProgramWithSource)          \
  DO(clCreateProgramWithBinary)          \
  DO(clBuildProgram)                     \
  DO(clGetProgramInfo)                   \
  DO(clGetProgramBuildInfo)              \
  DO(clReleaseProgram)                   \
  DO(clCreateKernel)                     \
  DO(clCreateKernelsInProgram)           \
  DO(clReleaseKernel)                    \
  DO(clSetKernelArg)                     \
  DO(clSetKernelArgSVMPointer)           \
  DO(clSetKernelExecInfo)                \
  DO(clGetKernelInfo)                    \
  DO(clGetKernelArgInfo)                 \
  DO(clGetKernelWorkGroupInfo)           \
  DO(clEnqueueNDRangeKernel)             \
  DO(clEnqueueMarkerWithWaitList)        \
  DO(clEnqueueBarrierWithWaitList)       \
  DO(clWaitForEvents)                    \
  DO(clGetEventInfo)                     \
  DO(clGetEventProfilingInfo)            \
  DO(clReleaseEvent)                     \
  DO(clFlush)                            \
  DO(clFinish)

struct Api {
#define KYMO_DECLARE(name) decltype(&::name) name = nullptr;
  KYMO_OPENCL_FUNCTIONS(KYMO_DECLARE)
#undef KYMO_DECLARE
  decltype(&::clGetDeviceAndHostTimer) clGetDeviceAndHostTimer = nullptr;  // null: the loader is older than 2.1
  decltype(&::clGetExtensionFunctionAddressForPlatform) clGetExtensionFunctionAddressForPlatform = nullptr;
};

// Throws NotAvailable if the library cannot be opened or lacks a function.
std::shared_ptr<const Api> load_api();

std::string error_name(cl_int code);  // "CL_OUT_OF_RESOURCES (-5)"

// "clFinish failed: CL_OUT_OF_RESOURCES (-5): …", with the meaning if it is known.
std::string error_text(cl_int code, std::string_view call);

[[noreturn]] void fail(cl_int code, std::string_view call);  // DeviceError

inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) [[unlikely]]
    fail(code, call);
}

// A text that the API writes in two calls: `query(bytes, to, size)` gives its size, then the text with zeros at its
// end. Empty if the driver does not report it.
template <class Query>
std::string text_from(Query query) {
  size_t size = 0;
  if (query(size_t{0}, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (query(size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

// Owns one reference to an OpenCL object.
template <class T>
class Handle {
 public:
  using Release = cl_int (*)(T);

  Handle() = default;
  Handle(T object, Release release) : object_(object), release_(release) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) release_(object_);
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
  Release release_ = nullptr;
};

using Event = Handle<cl_event>;
using CommandQueue = Handle<cl_command_queue>;

}  // namespace kymo::device::opencl
