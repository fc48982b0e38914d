// An identity for devices whose driver has none. Everything that records a device uses it, so that its work is on one
// device in a trace.
#pragma once

#include <string>
#include <string_view>

namespace kymo::base {

// For an OpenCL device without a UUID: 32 hexadecimal digits. It is the same in every process that sees the same
// devices in the same order. The texts are the driver's, without spaces around them.
std::string opencl_device_uuid(std::string_view platform, std::string_view vendor, std::string_view name,
                               int index_in_platform);

}  // namespace kymo::base
