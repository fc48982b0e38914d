// Somebody's program that translates a kernel, without a device and without a trace.
#include <kymo/translate.h>

#include <cstdio>
#include <string>

using namespace kymo;

int main() {
  const char* source =
      "kernel void scale(device float* x, constant float& f, uint i [[thread_position_in_grid]]) { x[i] *= f; }";
  for (const shader::Target target : {shader::Target::OpenCl, shader::Target::Cuda, shader::Target::Glsl}) {
    const shader::Translation translation = shader::translate(source, {.target = target});
    if (!translation.ok() || translation.kernels.size() != 1 || translation.kernels[0].parameters.size() != 2)
      return std::fputs(translation.log.c_str(), stderr), 1;
    std::printf("%s: %zu bytes\n", std::string(shader::target_name(target)).c_str(), translation.text.size());
  }
  const shader::Translation refused = shader::translate("kernel void f() { g(); }", {.file = "f.metal"});
  const shader::Diagnostic* error = refused.first_error();
  return !refused.ok() && error != nullptr && error->file == "f.metal" && error->line == 1 ? 0 : 1;
}
