// The devices of all OpenCL platforms that Kymo can drive, and what they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/opencl/api.h"

namespace kymo::device::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  bool is_cpu = false;
  bool non_uniform_groups = false;  // takes launches whose last groups are partial, from -cl-std=CL2.0 on
  bool fine_grained = false;        // its memory is the host's own, and host code may touch it between operations
  bool rounds_divisions = false;    // float division and square root are rounded right where that is asked for
  std::string newest_language;      // "CL3.0": the highest -cl-std that its compiler takes
  DeviceInfo info;
};

// GPUs first, then other accelerators, then CPUs, in the order of the platforms. Left out is what cannot be driven: no
// compiler, or no shared virtual memory (an address must be a pointer, so that memory can be cut into tensors at any
// place and addresses can be stored in memory). Throws NotAvailable, with the reasons, where nothing is left.
std::vector<FoundDevice> find_devices(const Api& cl);

// What may be held: on a CPU the programs beside this one need memory too, and on others the driver itself, which may
// begin to move memory to and fro where it should say no.
size_t recommended_memory(size_t total, bool is_cpu);

// "CL1.2" from "OpenCL C 1.2 PoCL"; empty where it does not look like that.
std::string language_option(const std::string& opencl_c_version);

}  // namespace kymo::device::opencl
