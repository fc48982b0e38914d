// The properties of a device, as the driver reports them, without opening it.
#pragma once

#include "device/backend.h"
#include "device/cuda/api.h"

namespace kymo::device::cuda {

int attribute_of(const Api& api, CUdevice device, CUdevice_attribute which);
int architecture_of(const Api& api, CUdevice device);  // 90 for compute capability 9.0

// `nvrtc_version`: 13000 for 13.0; 0 if there is no NVRTC: then CUDA C++ is not among the languages.
DeviceInfo describe_device(const Api& api, CUdevice device, int nvrtc_version);

}  // namespace kymo::device::cuda
