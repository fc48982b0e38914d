// The OpenCL layer: the functions that an OpenCL loader calls in a library that OPENCL_LAYERS names.
//
// ocl-icd and older Khronos loaders call clInitLayer. Khronos loaders since 2026 call clInitLayerWithProperties, and
// clDeinitLayer when they are unloaded. Both give the layer a table of functions and get a table of the layer's; an
// entry that is null there stays as it is. The loader calls them before any other function of OpenCL, on one thread.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#define CL_LAYER_API __attribute__((visibility("default")))

extern "C" {
CL_LAYER_API cl_int CL_API_CALL clGetLayerInfo(cl_uint what, size_t size, void* value, size_t* returned);
CL_LAYER_API cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* below, cl_uint* returned,
                                            const cl_icd_dispatch** layer);
CL_LAYER_API cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch* below,
                                                          cl_uint* returned, const cl_icd_dispatch** layer,
                                                          const cl_properties* properties);
CL_LAYER_API cl_int CL_API_CALL clDeinitLayer(void);
}

namespace kymo::inject::opencl {

// The functions below the layer: those of the next layer, or of the loader itself. Set by clInitLayer and constant from
// then on. A function that the loader does not have is null.
extern cl_icd_dispatch target;

// A value of an object, by one of the functions clGet…Info.
template <class T, class Ask, class Object, class What>
T ask(Ask function, Object object, What what) noexcept {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): some values are handles, which are pointers
  return function(object, what, sizeof(T), &value, nullptr) == CL_SUCCESS ? value : T{};
}

}  // namespace kymo::inject::opencl
