// Faults of drivers that would end the process: better a device less than that.
// KYMO_VULKAN_TRUST=1 uses such devices all the same.
#pragma once

#include <string>
#include <string_view>

namespace kymo::device::vulkan {

// Why Mesa's driver for the CPU must not be used here; empty: it may.
//
// LLVM, which compiles its kernels, goes by the CPU's model. Where a virtual machine or a sandbox hides the SVE
// instructions of a model that has them, kernels that divide integers (and some others) get them all the same, and end
// the process with SIGILL: https://github.com/llvm/llvm-project/issues/130509.
std::string llvmpipe_fault();

// Whether a Linux `cpuinfo` shows an Arm model that LLVM takes to have SVE. Pure.
bool model_has_sve(std::string_view cpuinfo);

}  // namespace kymo::device::vulkan
