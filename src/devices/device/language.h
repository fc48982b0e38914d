// The language of a kernel's source, detected from the text.
#pragma once

#include <optional>
#include <string_view>

#include "device/backend.h"

namespace kymo::device {

// Looks for words that only one language has; ignores comments. Empty: it could be any language.
std::optional<Language> detect_language(std::string_view source);

// Metal is available if the device has a compiler for a language that Metal can be translated to.
void add_metal(DeviceInfo& info);
// The first language of a device that its backend compiles from text without translation. Empty: there is none.
std::optional<Language> native_language(const DeviceInfo& device);

// The language to use on this device: the detected one, else Metal. Throws InvalidArgument if the device does not
// compile the detected language.
Language choose_language(std::string_view source, const DeviceInfo& device);

}  // namespace kymo::device
