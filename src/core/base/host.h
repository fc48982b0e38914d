// This machine and its devices, as traces and the daemon name them.
#pragma once

#include <string>
#include <string_view>

namespace kymo::base {

// A random id of the kernel, new at each boot: times of CLOCK_MONOTONIC are comparable if it is the same. Empty if
// /proc cannot be read.
std::string boot_id();
std::string host_name();

// An identity for devices whose driver has none. Everything that records a device uses it, so that its work is on one
// device in a trace. For an OpenCL device without a UUID: 32 hexadecimal digits. It is the same in every process that
// sees the same devices in the same order. The texts are the driver's, without spaces around them.
std::string opencl_device_uuid(std::string_view platform, std::string_view vendor, std::string_view name,
                               int index_in_platform);

// How Kymo's own device runtime and Kymo's OpenCL layer recognize each other in one process. The layer answers a query
// for the extension function of this name. No driver has it. Its type is void
// (*)(cl_context). The runtime calls it for each of its contexts: what happens there is not recorded by the layer,
// because the runtime records it itself.
inline constexpr const char* kExcludeContext = "clExcludeContextKYMO";

}  // namespace kymo::base
