#include "inject/opencl/layer.h"

#include <dlfcn.h>
#include <string.h>

#include <algorithm>

#include "inject/adapter.h"
#include "inject/opencl/calls.h"
#include "record/process.h"

namespace kymo::inject::opencl {

constinit cl_icd_dispatch target{};

namespace {

constexpr cl_uint kApiVersionName = 0x4240, kNameName = 0x4241;  // CL_LAYER_API_VERSION, CL_LAYER_NAME
constexpr cl_uint kApiVersion = 100;
constexpr char kName[] = "Kymo";
constexpr size_t kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);

cl_icd_dispatch functions{};
const cl_icd_dispatch nothing{};
bool has_target = false;

// The layer calls the loader's functions after the program has closed it, at the end of a session.
template <class Function>
void pin_loader(Function function) {
  Dl_info where;
  if (dladdr(reinterpret_cast<const void*>(function), &where) != 0 && where.dli_fname != nullptr)
    dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

template <class Function>
bool is_loaded(Function function) {
  Dl_info where;
  return dladdr(reinterpret_cast<const void*>(function), &where) != 0;
}

// Only functions that the loader below has are replaced.
void make_table() {
  functions = {};
  add_queue_calls(functions);
  add_command_calls(functions);
  add_memory_calls(functions);
  add_extension_calls(functions);
  void* own[kEntries];
  void* below[kEntries];
  memcpy(own, &functions, sizeof own);
  memcpy(below, &target, sizeof below);
  for (size_t i = 0; i < kEntries; ++i)
    if (below[i] == nullptr) own[i] = nullptr;
  memcpy(&functions, own, sizeof own);
}

cl_int init(cl_uint count, const cl_icd_dispatch* below, cl_uint* returned, const cl_icd_dispatch** layer) {
  if (below == nullptr || returned == nullptr || layer == nullptr) return CL_INVALID_VALUE;
  *returned = kEntries;
  *layer = &nothing;
  if (!is_wanted(record::Interface::OpenCl)) return CL_SUCCESS;
  cl_icd_dispatch given{};
  memcpy(&given, below, std::min<size_t>(count, kEntries) * sizeof(void*));
  // OpenCL 1.1 and what the layer cannot do without.
  if (given.clGetDeviceInfo == nullptr || given.clGetDeviceIDs == nullptr || given.clGetPlatformInfo == nullptr ||
      given.clGetContextInfo == nullptr || given.clGetCommandQueueInfo == nullptr || given.clGetKernelInfo == nullptr ||
      given.clGetEventInfo == nullptr || given.clGetEventProfilingInfo == nullptr || given.clRetainEvent == nullptr ||
      given.clReleaseEvent == nullptr || given.clGetMemObjectInfo == nullptr || given.clGetImageInfo == nullptr)
    return CL_SUCCESS;
  // The library is twice in the list: the calls below come from the layer itself.
  if (has_target && given.clReleaseCommandQueue == functions.clReleaseCommandQueue) return CL_SUCCESS;
  // A second loader in the process works, but is not recorded: an object does not say which loader it is from.
  const bool is_same = given.clReleaseCommandQueue == target.clReleaseCommandQueue;
  if (has_target && !is_same && is_loaded(target.clReleaseCommandQueue)) return CL_SUCCESS;
  target = given;
  has_target = true;
  pin_loader(target.clReleaseCommandQueue);
  recorder().open();
  make_table();
  record::process();  // finds the recording of the process
  *layer = &functions;
  return CL_SUCCESS;
}

}  // namespace
}  // namespace kymo::inject::opencl

using namespace kymo::inject::opencl;

cl_int CL_API_CALL clGetLayerInfo(cl_uint what, size_t size, void* value, size_t* returned) {
  const void* answer = nullptr;
  size_t bytes = 0;
  if (what == kApiVersionName) {
    answer = &kApiVersion;
    bytes = sizeof kApiVersion;
  } else if (what == kNameName) {
    answer = kName;
    bytes = sizeof kName;
  } else {
    return CL_INVALID_VALUE;
  }
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr) memcpy(value, answer, bytes);
  if (returned != nullptr) *returned = bytes;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* below, cl_uint* returned,
                               const cl_icd_dispatch** layer) {
  return init(count, below, returned, layer);
}

cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch* below, cl_uint* returned,
                                             const cl_icd_dispatch** layer, const cl_properties*) {
  return init(count, below, returned, layer);
}

// The loader unloads its drivers after this.
cl_int CL_API_CALL clDeinitLayer(void) {
  if (has_target) {
    if (kymo::detail::recording()) recorder().flush(0);
    recorder().close();
  }
  return CL_SUCCESS;
}
