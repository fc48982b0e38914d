// Compiles GLSL to SPIR-V with the compiler of the Vulkan backend (vulkan/glsl.h). Needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::device {

struct SpirvModule {
  std::string kernel;  // the name in its `#pragma kernel` line; its entry point is main
  std::vector<uint32_t> words;
};

// One module for each kernel of the text. Throws CompileError, and NotAvailable if there is no compiler.
std::vector<SpirvModule> compile_to_spirv(std::string_view glsl, std::string_view file);

}  // namespace kymo::device
