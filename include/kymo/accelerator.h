// An accelerator, by its name.
#pragma once

#include <string>
#include <string_view>

#include "kymo/error.h"
#include "kymo/export.h"

namespace kymo::device {

class DeviceState;  // the runtime's own

// One accelerator. A small value: copying it copies a name, not a device.
class KYMO_API Device {
 public:
  // "cuda:0", "opencl:1", "vulkan" (its first). Opens it where that has not been done. Throws InvalidArgument for a
  // name that is none, NotAvailable for a device that is not there.
  explicit Device(std::string_view name);
  static Device current();  // throws NotAvailable where there is none

  const std::string& name() const;         // "cuda:0"
  const std::string& description() const;  // "NVIDIA H200"
  bool operator==(const Device&) const = default;

  explicit Device(DeviceState& state) : state_(&state) {}
  DeviceState& state() const { return *state_; }

 private:
  DeviceState* state_;
};

}  // namespace kymo::device
