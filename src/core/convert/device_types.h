// PyTorch's numbers for types of devices, and their names. One table for all that Kymo reads and writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::convert {

// A device in traces of PyTorch. CPU memory has index -1.
struct DeviceNumbers {
  int64_t type = 0, index = -1;
};

// "Vulkan 0"; "device 42:0" for a type without a name. A negative index is 0.
std::string device_label(const DeviceNumbers& device);
// "vulkan:0"; "cpu" for all CPU memory; "device 42:0" for a type without a name.
std::string device_key(const DeviceNumbers& device);
// From the text of device_key(), or of any other name of a device. CPU memory if the name has no known type.
DeviceNumbers device_numbers(std::string_view key);

}  // namespace kymo::convert
