// The OpenCL layer: the functions that an OpenCL loader calls in a library that OPENCL_LAYERS names.
//
// ocl-icd and older Khronos loaders call clInitLayer. Khronos loaders since 2026 call clInitLayerWithProperties, and
// clDeinitLayer when they are unloaded. Both give the layer a table of functions and get a table of the layer's; an
// entry that is null there stays as it is. The loader calls them before any other function of OpenCL, on one thread.
#pragma once

#include "inject/opencl/target.h"

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
