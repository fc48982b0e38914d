// GLSL to SPIR-V by what the Vulkan backend compiles with (vulkan/glsl.h); needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::device {

struct SpirvModule {
  std::string kernel;  // as its line `#pragma kernel` names it; its entry point is main
  std::vector<uint32_t> words;
};

// One for each kernel of the text. Throws CompileError, and NotAvailable where there is no compiler.
std::vector<SpirvModule> compile_to_spirv(std::string_view glsl, std::string_view file);

}  // namespace kymo::device
