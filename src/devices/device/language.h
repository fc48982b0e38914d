// The language of a kernel's source, detected from the text, and the translation of Metal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "kymo/error.h"
#include "kymo/shader.h"

namespace kymo::device {

// True if the text contains the word, and not only as a part of a longer one.
bool has_word(std::string_view text, std::string_view word);

// Looks for words that only one language has; ignores comments. Empty: it could be any language.
std::optional<Language> detect_language(std::string_view source);

// Metal is available if the device has a compiler for a language that Metal can be translated to.
void add_metal(DeviceInfo& info);
// The first language of a device that its backend compiles from text without translation. Empty: there is none.
std::optional<Language> native_language(const DeviceInfo& device);

// The language to use on this device: the detected one, else Metal. Throws InvalidArgument if the device does not
// compile the detected language.
Language choose_language(std::string_view source, const DeviceInfo& device);

// ---- Metal on a device ---------------------------------------------------------------------------------------------
//
// src/devices/shader translates it to a language that the device's backend compiles.

// The max number of threads in a group of a translated kernel: the same as on Metal's own devices. Simdgroups rely on
// it.
inline constexpr uint64_t kMaxMetalThreads = 1024;

struct MetalTranslation {
  Language language = Language::OpenClC;  // of the text
  std::string text;
  std::vector<std::string> options;  // for its compiler
  std::vector<KernelInfo> kernels;   // empty: there is nothing to compile
  std::string warnings;              // as a compiler prints them
};

// The source is Metal, or the bytes of a .kymolib file, which are only read. Throws CompileError with the translator's
// log, InvalidArgument for unknown options, and NotAvailable if the device compiles no language that Metal can be
// translated to.
// `only`: the kernel to translate; empty: all.
MetalTranslation translate_metal(std::string_view source, const CompileOptions& options, const DeviceInfo& device,
                                 std::string_view only = {});

// An error of the backend's compiler in translated text. It is a bug in the translator, not in the source or in the
// call.
CompileError translation_fault(Language language, const CompileError& error);

}  // namespace kymo::device
