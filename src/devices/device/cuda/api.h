// The CUDA driver, libcuda.so.1, opened at run time: a table of the functions that Kymo calls.
//
// If KYMO_CUDA_LIBRARY is set, that library is opened instead. Symbols are looked up by their versioned names, in the
// version of CUDA 11.0. Drivers keep these symbols, so one build of Kymo runs with CUDA 11 to 13 and later, independent
// of the headers it was built with.
#pragma once

#include <cuda.h>

#include <string>

namespace kymo::device::cuda {

// X(member, symbol, parameters)
#define KYMO_CUDA_FUNCTIONS(X)                                                                  \
  X(init, "cuInit", (unsigned))                                                                 \
  X(driver_version, "cuDriverGetVersion", (int*))                                               \
  X(error_name, "cuGetErrorName", (CUresult, const char**))                                     \
  X(error_string, "cuGetErrorString", (CUresult, const char**))                                 \
  X(device_count, "cuDeviceGetCount", (int*))                                                   \
  X(device_get, "cuDeviceGet", (CUdevice*, int))                                                \
  X(device_name, "cuDeviceGetName", (char*, int, CUdevice))                                     \
  X(device_uuid, "cuDeviceGetUuid", (CUuuid*, CUdevice))                                        \
  X(device_total_memory, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                            \
  X(device_attribute, "cuDeviceGetAttribute", (int*, CUdevice_attribute, CUdevice))             \
  X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                         \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                                \
  X(context_reset, "cuDevicePrimaryCtxReset_v2", (CUdevice))                                    \
  X(context_get, "cuCtxGetCurrent", (CUcontext*))                                               \
  X(context_set, "cuCtxSetCurrent", (CUcontext))                                                \
  X(stream_priorities, "cuCtxGetStreamPriorityRange", (int*, int*))                             \
  X(memory_allocate, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                   \
  X(memory_free, "cuMemFree_v2", (CUdeviceptr))                                                 \
  X(host_allocate, "cuMemHostAlloc", (void**, size_t, unsigned))                                \
  X(host_free, "cuMemFreeHost", (void*))                                                        \
  X(pointer_attribute, "cuPointerGetAttribute", (void*, CUpointer_attribute, CUdeviceptr))      \
  X(fill_8, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))                  \
  X(fill_16, "cuMemsetD16Async", (CUdeviceptr, unsigned short, size_t, CUstream))               \
  X(fill_32, "cuMemsetD32Async", (CUdeviceptr, unsigned, size_t, CUstream))                     \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void*, size_t, CUstream))       \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void*, CUdeviceptr, size_t, CUstream))               \
  X(copy_on_device, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))       \
  X(stream_create, "cuStreamCreateWithPriority", (CUstream*, unsigned, int))                    \
  X(stream_destroy, "cuStreamDestroy_v2", (CUstream))                                           \
  X(stream_synchronize, "cuStreamSynchronize", (CUstream))                                      \
  X(stream_wait, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                            \
  X(event_create, "cuEventCreate", (CUevent*, unsigned))                                        \
  X(event_destroy, "cuEventDestroy_v2", (CUevent))                                              \
  X(event_record, "cuEventRecord", (CUevent, CUstream))                                         \
  X(event_query, "cuEventQuery", (CUevent))                                                     \
  X(event_synchronize, "cuEventSynchronize", (CUevent))                                         \
  X(event_elapsed, "cuEventElapsedTime", (float*, CUevent, CUevent))                            \
  X(module_load, "cuModuleLoadData", (CUmodule*, const void*))                                  \
  X(module_unload, "cuModuleUnload", (CUmodule))                                                \
  X(module_function, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))               \
  X(function_attribute, "cuFuncGetAttribute", (int*, CUfunction_attribute, CUfunction))         \
  X(function_set, "cuFuncSetAttribute", (CUfunction, CUfunction_attribute, int))                \
  X(link_create, "cuLinkCreate_v2", (unsigned, CUjit_option*, void**, CUlinkState*))            \
  X(link_add, "cuLinkAddData_v2",                                                               \
    (CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**)) \
  X(link_complete, "cuLinkComplete", (CUlinkState, void**, size_t*))                            \
  X(link_destroy, "cuLinkDestroy", (CUlinkState))                                               \
  X(launch, "cuLaunchKernel",                                                                   \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))

struct Api {
#define KYMO_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  KYMO_CUDA_FUNCTIONS(KYMO_CUDA_MEMBER)
#undef KYMO_CUDA_MEMBER

  int version = 0;          // of the API, 13000 for 13.0
  std::string driver_name;  // of the driver's package, "580.159.04"; empty: its file name does not contain it
};

// Opens and initialises the library once per process; later calls return the same object. Throws NotAvailable if the
// library is missing, incomplete or does not start; then the next call tries again.
const Api& load_api();

// Converts the driver's results to kymo::DeviceError: the call, the driver's name for the error, its meaning, what to
// do.

std::string error_name(const Api& api, CUresult result);  // "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
std::string error_text(const Api& api, CUresult result);  // "an illegal memory access was encountered"

// A fault of a kernel or the device, after which every call that uses the context reports the same error.
bool is_fault(CUresult result);

[[noreturn]] void throw_error(const Api& api, CUresult result, const char* call);

inline void check(const Api& api, CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    throw_error(api, result, call);
}

}  // namespace kymo::device::cuda
