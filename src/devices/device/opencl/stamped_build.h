// Adds stamps (ptx_stamps.h) to a built program, so that its kernels report themselves when they ran. NVIDIA's driver
// returns PTX as the binary of a program, and takes PTX.
#pragma once

#include <string>

#include "device/opencl/build.h"

namespace kymo::device::opencl {

// The same program with stamps: every kernel has a Stamp as its last parameter. Empty if this is not possible: the
// driver has no PTX, or an old version, or rejects the edited text.
BuiltProgram build_stamped(const Context& context, cl_program program, const std::string& options);

}  // namespace kymo::device::opencl
