// The errors of the validation layer: for tests that check that a run had none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"

namespace kymo::device::vulkan {

// All errors since load_vulkan(), thrown or not. Empty: the driver is not Vulkan's, or KYMO_VULKAN_VALIDATION is off.
std::optional<std::vector<std::string>> validation_messages(const Driver& driver);

}  // namespace kymo::device::vulkan
