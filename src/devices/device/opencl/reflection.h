// The kernels of a built program and their parameters, as the driver reports them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/opencl/build.h"

namespace kymo::device::opencl {

// Sorted by name. `text` and `options` are those of the build. The API does not report sizes of structures and types
// behind a typedef. If a kernel has such a parameter, a probe is compiled to find them (type_probe.h).
std::vector<KernelInfo> reflect(const Context& context, cl_program program, const std::string& text,
                                const std::string& options);

// Lowers the limits of kernels that are already known to what the device allows for each.
void limit(const Context& context, cl_program program, std::vector<KernelInfo>& kernels);

}  // namespace kymo::device::opencl
