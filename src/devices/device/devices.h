// The devices of this process: the available backends, the current device, the open devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device_state.h"

namespace kymo::device {

// "cuda:1" is device 1 of CUDA, "cuda" its first. Throws InvalidArgument for anything else, with the valid names.
struct DeviceName {
  std::string backend;
  int index = 0;
  static DeviceName parse(std::string_view text);
};

// Opens a device, or returns it if it is open. Throws NotAvailable if it does not exist.
DeviceState& open_device(std::string_view name);

// The current device: the one of set_current_device, else of KYMO_DEVICE, else the best. Throws NotAvailable if there
// is none, with the reason of each backend.
DeviceState& current_device();
void set_current_device(DeviceState& device);

// The same, but null if there is none.
DeviceState* current_device_or_null();

// The devices that are open now.
std::vector<DeviceState*> open_devices();

}  // namespace kymo::device
