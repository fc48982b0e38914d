#include "device/opencl/api.h"

#include <dlfcn.h>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";
constexpr const char* kVariable = "KYMO_OPENCL_LIBRARY";

std::string library_name() {
  const char* named = base::environment(kVariable);
  return named != nullptr && *named != '\0' ? named : kLibrary;
}

void* open_library(const std::string& name) {
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = dlerror();
  throw NotAvailable(base::format(
      "OpenCL is not available: cannot load {} ({}); install the loader (Debian: ocl-icd-libopencl1) and a "
      "driver (pocl-opencl-icd for the CPU, or the one of your GPU){}",
      name, reason != nullptr ? reason : "no reason given",
      name == kLibrary ? "" : base::format(", or unset {}", kVariable)));
}

template <class Function>
void find(void* library, const std::string& name, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function != nullptr) return;
  throw NotAvailable(base::format(
      "OpenCL is not available: {} has no function {}, so it is not an OpenCL loader of version 2.0 or later; "
      "install one (Debian: ocl-icd-libopencl1){}",
      name, symbol, name == kLibrary ? "" : base::format(", or unset {}", kVariable)));
}

}  // namespace

std::shared_ptr<const Api> load_api() {
  const std::string name = library_name();
  void* library = open_library(name);
  auto api = std::make_shared<Api>();
#define KYMO_FIND(symbol) find(library, name, #symbol, api->symbol);
  KYMO_OPENCL_FUNCTIONS(KYMO_FIND)
#undef KYMO_FIND
  api->clGetDeviceAndHostTimer =
      reinterpret_cast<decltype(api->clGetDeviceAndHostTimer)>(dlsym(library, "clGetDeviceAndHostTimer"));
  api->clGetExtensionFunctionAddressForPlatform =
      reinterpret_cast<decltype(api->clGetExtensionFunctionAddressForPlatform)>(
          dlsym(library, "clGetExtensionFunctionAddressForPlatform"));
  return api;
}

namespace {

struct Known {
  cl_int code;
  const char* name;
  const char* meaning;  // empty: the name is clear enough
};

#define KYMO_CODE(name, meaning) \
  { name, #name, meaning }
constexpr Known kKnown[] = {
    KYMO_CODE(CL_DEVICE_NOT_FOUND, ""),
    KYMO_CODE(CL_DEVICE_NOT_AVAILABLE, "another process uses it, or it is switched off"),
    KYMO_CODE(CL_COMPILER_NOT_AVAILABLE, "this driver has no compiler"),
    KYMO_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device has not enough memory left for this call"),
    KYMO_CODE(
        CL_OUT_OF_RESOURCES,
        "a kernel accessed memory out of bounds, or needs more registers or group memory than a group of this size "
        "has: check its indices, or launch with smaller groups"),
    KYMO_CODE(CL_OUT_OF_HOST_MEMORY, "the host has no memory left"),
    KYMO_CODE(CL_PROFILING_INFO_NOT_AVAILABLE, "the operation was not timed"),
    KYMO_CODE(CL_MEM_COPY_OVERLAP, "the source and the target of a copy overlap"),
    KYMO_CODE(CL_BUILD_PROGRAM_FAILURE, "the source does not compile"),
    KYMO_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "an operation that this one waited for failed"),
    KYMO_CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "the program was built without argument info"),
    KYMO_CODE(CL_INVALID_VALUE, ""),
    KYMO_CODE(CL_INVALID_DEVICE, ""),
    KYMO_CODE(CL_INVALID_CONTEXT, ""),
    KYMO_CODE(CL_INVALID_QUEUE_PROPERTIES, "the device does not support queues with these properties"),
    KYMO_CODE(CL_INVALID_COMMAND_QUEUE, "an earlier operation failed, and the queue is no longer valid"),
    KYMO_CODE(CL_INVALID_MEM_OBJECT, ""),
    KYMO_CODE(CL_INVALID_BINARY, "the binary is not for this device or this driver version"),
    KYMO_CODE(CL_INVALID_BUILD_OPTIONS, "the compiler does not know one of the options"),
    KYMO_CODE(CL_INVALID_PROGRAM, ""),
    KYMO_CODE(CL_INVALID_PROGRAM_EXECUTABLE, "the program is not built for this device"),
    KYMO_CODE(CL_INVALID_KERNEL_NAME, "the program has no such kernel"),
    KYMO_CODE(CL_INVALID_KERNEL_DEFINITION, ""),
    KYMO_CODE(CL_INVALID_KERNEL, ""),
    KYMO_CODE(CL_INVALID_ARG_INDEX, ""),
    KYMO_CODE(CL_INVALID_ARG_VALUE, ""),
    KYMO_CODE(CL_INVALID_ARG_SIZE, "the size of the argument does not match the parameter"),
    KYMO_CODE(CL_INVALID_KERNEL_ARGS, "an argument was not given"),
    KYMO_CODE(CL_INVALID_WORK_DIMENSION, ""),
    KYMO_CODE(CL_INVALID_WORK_GROUP_SIZE, "the group does not fit the kernel: see its max_threads_per_threadgroup()"),
    KYMO_CODE(CL_INVALID_WORK_ITEM_SIZE, "the group is too large in one dimension for this device"),
    KYMO_CODE(CL_INVALID_GLOBAL_OFFSET, ""),
    KYMO_CODE(CL_INVALID_EVENT_WAIT_LIST, ""),
    KYMO_CODE(CL_INVALID_EVENT, ""),
    KYMO_CODE(CL_INVALID_OPERATION, "this driver does not support it"),
    KYMO_CODE(CL_INVALID_BUFFER_SIZE, "larger than the max size of one allocation on this device"),
    KYMO_CODE(CL_INVALID_GLOBAL_WORK_SIZE, "too many threads in one dimension for this device"),
    KYMO_CODE(CL_INVALID_COMPILER_OPTIONS, "the compiler does not know one of the options"),
    KYMO_CODE(CL_PLATFORM_NOT_FOUND_KHR, "no driver is installed"),
    {-9999, "NVIDIA's error for a kernel that accessed memory out of bounds", "check its indices"},
};
#undef KYMO_CODE

const Known* find(cl_int code) {
  for (const Known& known : kKnown)
    if (known.code == code) return &known;
  return nullptr;
}

}  // namespace

std::string error_name(cl_int code) {
  const Known* known = find(code);
  return base::format("{} ({})", known != nullptr ? known->name : "an unknown OpenCL error", code);
}

std::string error_text(cl_int code, std::string_view call) {
  const Known* known = find(code);
  const bool explained = known != nullptr && *known->meaning != '\0';
  return base::format("{} failed: {}{}{}", call, error_name(code), explained ? ": " : "",
                      explained ? known->meaning : "");
}

void fail(cl_int code, std::string_view call) { throw DeviceError(error_text(code, call)); }

}  // namespace kymo::device::opencl
