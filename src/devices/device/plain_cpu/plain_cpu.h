// Shows a different CPU model to compilers that trust the model more than the machine.
//
// Mesa's Vulkan driver for the CPU compiles kernels with LLVM, which reads the CPU model from /proc/cpuinfo. Some
// virtual machines hide the SVE instructions of an Arm model that has them. LLVM uses these instructions anyway, and
// kernels crash the process (vulkan/physical_device.h). libkymo_plain_cpu.so, loaded with LD_PRELOAD, shows a Neoverse
// N1, which has no SVE, to all code that opens /proc/cpuinfo on such a machine. On other machines it changes nothing.
#pragma once

#include <string>

namespace kymo::device {

// The same text for a Neoverse N1. Pure; text without a "CPU part" stays unchanged.
std::string plain_cpuinfo(std::string cpuinfo);

}  // namespace kymo::device
