// What the validation layer found: for tests that prove a run clean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"

namespace kymo::device::vulkan {

// All errors since load_vulkan(), thrown or not. Nothing: it is not Vulkan's driver, or KYMO_VULKAN_VALIDATION is off.
std::optional<std::vector<std::string>> validation_messages(const Driver& driver);

}  // namespace kymo::device::vulkan
