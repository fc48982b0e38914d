// The devices of all OpenCL platforms that Kymo can use, and their properties.
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
  bool non_uniform_groups = false;  // supports launches whose last groups are partial, from -cl-std=CL2.0 on
  bool fine_grained = false;        // its memory is the host's, and host code may access it between operations
  bool rounds_divisions = false;    // can round float division and square root correctly, if requested
  bool makes_ptx = false;           // the binaries of its programs are PTX: NVIDIA's driver
  // A program's binary has code that launches do not use, and is slow to make: PoCL compiles for the group size of a
  // launch, and caches that code itself.
  bool compiles_at_launch = false;
  std::string newest_language;  // "CL3.0": the highest -cl-std that its compiler supports
  DeviceInfo info;
};

// GPUs first, then other accelerators, then CPUs, in the order of the platforms. Leaves out devices that Kymo cannot
// use: no compiler, or no shared virtual memory (an address must be a pointer, so that memory can be cut into tensors
// at any position and addresses can be stored in memory). Throws NotAvailable, with the reasons, if no device is left.
std::vector<FoundDevice> find_devices(const Api& cl);

// How much memory Kymo may hold. On a CPU, other programs need memory too. On other devices, the driver itself needs
// memory, and may start to swap instead of reporting an error.
size_t recommended_memory(size_t total, bool is_cpu);

// "CL1.2" from "OpenCL C 1.2 PoCL"; empty if the text has another form.
std::string language_option(const std::string& opencl_c_version);

}  // namespace kymo::device::opencl
