#include "device/opencl/context.h"

#include "base/environment.h"
#include "base/opencl_layer.h"
#include "device/opencl/error.h"

namespace kymo::device::opencl {
namespace {

// Kymo's OpenCL layer may be in the process. What happens in this context is recorded here, so the layer must not.
void exclude_from_layer(const Api& cl, cl_platform_id platform, cl_context context) {
  if (base::environment("OPENCL_LAYERS") == nullptr || cl.clGetExtensionFunctionAddressForPlatform == nullptr) return;
  using Exclude = void(CL_API_CALL*)(cl_context);
  const auto exclude =
      reinterpret_cast<Exclude>(cl.clGetExtensionFunctionAddressForPlatform(platform, base::kExcludeContext));
  if (exclude != nullptr) exclude(context);
}

}  // namespace

Context::Context(std::shared_ptr<const Api> loaded, FoundDevice found)
    : api(std::move(loaded)), cl(*api), device(std::move(found)), host_memory(*this) {
  renew();
}

void Context::renew() {
  handle = {};  // release it first: a lost context may prevent a new one
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(device.platform), 0};
  handle = {cl.clCreateContext(properties, 1, &device.id, nullptr, nullptr, &code), cl.clReleaseContext};
  check(code, "clCreateContext");
  exclude_from_layer(cl, device.platform, handle.get());
}

CommandQueue Context::make_queue(bool profiling) const {
  cl_int code = CL_SUCCESS;
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  CommandQueue queue(
      cl.clCreateCommandQueueWithProperties(handle.get(), device.id, profiling ? properties : nullptr, &code),
      cl.clReleaseCommandQueue);
  check(code, "clCreateCommandQueueWithProperties");
  return queue;
}

}  // namespace kymo::device::opencl
