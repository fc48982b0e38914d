// The kernels of a built program and their parameters, as the driver tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/opencl/build.h"

namespace kymo::device::opencl {

// By name. `text` and `options` are what the program was built from: sizes of structures and types behind a typedef are
// not told by the API but found by compiling a question (type_probe.h), where a kernel has such a parameter.
std::vector<KernelInfo> reflect(const Context& context, cl_program program, const std::string& text,
                                const std::string& options);

// Limits of kernels that are known already: lowered to what the device allows for each.
void limit(const Context& context, cl_program program, std::vector<KernelInfo>& kernels);

}  // namespace kymo::device::opencl
