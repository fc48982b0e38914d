// Metal on a device: src/devices/shader translates it to a language that the device's backend compiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "kymo/error.h"
#include "kymo/shader.h"

namespace kymo::device {

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
