// An accelerator, selected by its name.
#pragma once

#include <string>
#include <string_view>

#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo::device {

class DeviceState;  // internal to the runtime

// One accelerator. A small value: a copy refers to the same device.
class KYMO_API Device {
 public:
  // "cuda:0", "opencl:1" or "vulkan" (the first device of Vulkan). Opens the device if it is not open yet. Throws
  // InvalidArgument if the name is not valid, NotAvailable if the device is not found.
  explicit Device(std::string_view name);
  static Device current();  // throws NotAvailable if there is no device

  const std::string& name() const;         // "cuda:0"
  const std::string& description() const;  // "NVIDIA H200"
  bool operator==(const Device&) const = default;

  explicit Device(DeviceState& state) : state_(&state) {}
  DeviceState& state() const { return *state_; }

 private:
  DeviceState* state_;
};

}  // namespace kymo::device
