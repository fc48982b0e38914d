// Driver bugs that would crash the process. Kymo does not use such devices; KYMO_VULKAN_TRUST=1 makes it use them
// anyway.
#pragma once

#include <string>
#include <string_view>

namespace kymo::device::vulkan {

// The reason why Mesa's driver for the CPU must not be used here; empty: it can be used.
//
// LLVM, which compiles its kernels, goes by the CPU model. A virtual machine or a sandbox may hide the SVE instructions
// of a model that has them. Kernels that divide integers (and some others) then still contain SVE instructions, and end
// the process with SIGILL: https://github.com/llvm/llvm-project/issues/130509.
std::string llvmpipe_fault();

// Whether a Linux `cpuinfo` shows an Arm model for which LLVM assumes SVE. Pure.
bool model_has_sve(std::string_view cpuinfo);

}  // namespace kymo::device::vulkan
