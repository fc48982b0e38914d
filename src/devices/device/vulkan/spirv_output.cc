#include "device/spirv.h"
#include "device/vulkan/glsl.h"

namespace kymo::device {

std::vector<SpirvModule> compile_to_spirv(std::string_view glsl, std::string_view file) {
  Source source;
  source.language = Language::Glsl;
  source.text = glsl;
  source.file = file;
  std::vector<SpirvModule> modules;
  for (vulkan::ModuleCode& module : vulkan::compile_glsl(*vulkan::find_glsl_compiler(), source))
    modules.push_back({std::move(module.name), std::move(module.words)});
  return modules;
}

}  // namespace kymo::device
