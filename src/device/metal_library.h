// Metal on a device: translated (src/shader) to a language that the device's backend compiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "kymo/error.h"
#include "kymo/shader.h"

namespace kymo::device {

// Groups of translated kernels have no more threads: as on Metal's own devices, and simdgroups are counted on it.
inline constexpr uint64_t kMostMetalThreads = 1024;

struct MetalTranslation {
  Language language = Language::OpenClC;  // of the text
  std::string text;
  std::vector<std::string> options;  // for its compiler
  std::vector<KernelInfo> kernels;   // none: there is nothing to compile
};

// Throws CompileError with the translator's log, InvalidArgument for options that it does not know, NotAvailable where
// the device compiles no language that Metal can be translated to.
MetalTranslation translate_metal(std::string_view source, const CompileOptions& options, const DeviceInfo& device);

// What the backend's compiler says of text that the translator made: a fault of neither the source nor the caller.
CompileError translation_fault(Language language, const CompileError& error);

}  // namespace kymo::device
