// Another model of this CPU, for compilers that trust the model more than the machine.
//
// Mesa's Vulkan driver for the CPU compiles kernels with LLVM, which goes by the model in /proc/cpuinfo. Where a
// virtual machine hides the SVE instructions of an Arm model that has them, it uses them all the same and kernels end
// the process (vulkan/driver_faults.h). libkymo_plain_cpu.so, loaded by LD_PRELOAD, shows whoever opens /proc/cpuinfo a
// Neoverse N1 there, which has none. Anywhere else it changes nothing.
#pragma once

#include <string>

namespace kymo::device {

// The same, of a Neoverse N1. Pure; text without a "CPU part" stays as it is.
std::string plain_cpuinfo(std::string cpuinfo);

}  // namespace kymo::device
