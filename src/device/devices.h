// The devices of this process: which backends are there, which device is the current one, which are open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device_state.h"

namespace kymo::device {

// "cuda:1" is device 1 of CUDA, "cuda" its first. Throws InvalidArgument for anything else, with what is good.
struct DeviceName {
  std::string backend;
  int index = 0;
  static DeviceName parse(std::string_view text);
};

// Opens a device, or finds it open. Throws NotAvailable where it is not there.
DeviceState& open_device(std::string_view name);

// The current one: what set_current_device says, else what KYMO_DEVICE says, else the best. Throws NotAvailable where
// there is none, with the reason of each backend.
DeviceState& current_device();
void set_current_device(DeviceState& device);

// The same, but null where there is none.
DeviceState* current_device_or_null();

// Those open by now.
std::vector<DeviceState*> open_devices();

}  // namespace kymo::device
