// Which language a kernel's source is in, told from the text.
#pragma once

#include <optional>
#include <string_view>

#include "device/backend.h"

namespace kymo::device {

// By what only that language has, comments left aside. Nothing: it could be any.
std::optional<Language> detect_language(std::string_view source);

// Metal is understood wherever there is a compiler of a language that it can be translated to.
void add_metal(DeviceInfo& info);
// The first language of a device that its backend itself compiles from text. Nothing: there is none.
std::optional<Language> native_language(const DeviceInfo& device);

// The language to compile as on such a device: what the text says, else Metal. Throws InvalidArgument where it is
// plainly another one's.
Language choose_language(std::string_view source, const DeviceInfo& device);

}  // namespace kymo::device
