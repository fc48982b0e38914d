// Which language a kernel's source is in, told from the text.
#pragma once

#include <optional>
#include <string_view>

#include "device/backend.h"

namespace kymo::device {

// By what only that language has, comments left aside. Nothing: it could be any.
std::optional<Language> detect_language(std::string_view source);

// The language to compile as on such a device. Throws InvalidArgument where it is plainly another one's.
Language choose_language(std::string_view source, const DeviceInfo& device);

}  // namespace kymo::device
