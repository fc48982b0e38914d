// Compiles GLSL with libshaderc, in this process.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/text.h"
#include "device/vulkan/glsl.h"

namespace kymo::device::vulkan {
namespace {

// The part of shaderc's C interface that Kymo uses, declared here so that Kymo builds without shaderc's headers.
using ShadercCompiler = struct ShadercCompilerObject*;
using ShadercOptions = struct ShadercOptionsObject*;
using ShadercResult = struct ShadercResultObject*;
constexpr int kTargetVulkan = 0, kComputeShader = 2, kSuccess = 0, kOptimiseForSpeed = 2;
constexpr uint32_t kVulkan1_2 = 1u << 22 | 2u << 12;

struct ShadercApi {
  ShadercCompiler (*compiler_initialize)() = nullptr;
  ShadercOptions (*compile_options_initialize)() = nullptr;
  void (*compile_options_release)(ShadercOptions) = nullptr;
  void (*compile_options_add_macro_definition)(ShadercOptions, const char*, size_t, const char*, size_t) = nullptr;
  void (*compile_options_set_generate_debug_info)(ShadercOptions) = nullptr;
  void (*compile_options_set_optimization_level)(ShadercOptions, int) = nullptr;
  void (*compile_options_set_target_env)(ShadercOptions, int, uint32_t) = nullptr;
  void (*compile_options_set_preserve_bindings)(ShadercOptions, bool) = nullptr;
  ShadercResult (*compile_into_spv)(ShadercCompiler, const char*, size_t, int, const char*, const char*,
                                    ShadercOptions) = nullptr;
  void (*result_release)(ShadercResult) = nullptr;
  size_t (*result_get_length)(ShadercResult) = nullptr;
  const char* (*result_get_bytes)(ShadercResult) = nullptr;
  int (*result_get_compilation_status)(ShadercResult) = nullptr;
  const char* (*result_get_error_message)(ShadercResult) = nullptr;
};

class Shaderc final : public GlslCompiler {
 public:
  explicit Shaderc(const ShadercApi& api) : api_(api), compiler_(api.compiler_initialize()) {
    if (compiler_ == nullptr) throw NotAvailable("libshaderc does not start");
  }

  std::vector<uint32_t> compile(std::string_view text, const GlslOptions& wanted, std::string_view file) override {
    const std::unique_ptr<ShadercOptionsObject, void (*)(ShadercOptions)> options(api_.compile_options_initialize(),
                                                                                  api_.compile_options_release);
    api_.compile_options_set_target_env(options.get(), kTargetVulkan, kVulkan1_2);
    for (const auto& [name, value] : wanted.macros)
      api_.compile_options_add_macro_definition(options.get(), name.data(), name.size(), value.data(), value.size());
    if (wanted.debug) api_.compile_options_set_generate_debug_info(options.get());
    if (wanted.optimise) {
      api_.compile_options_set_optimization_level(options.get(), kOptimiseForSpeed);
      // A parameter stays a parameter even if the kernel does not use it.
      if (api_.compile_options_set_preserve_bindings != nullptr)
        api_.compile_options_set_preserve_bindings(options.get(), true);
    }
    const std::string name(file);
    const std::unique_ptr<ShadercResultObject, void (*)(ShadercResult)> result(
        api_.compile_into_spv(compiler_, text.data(), text.size(), kComputeShader, name.c_str(), "main", options.get()),
        api_.result_release);
    if (result == nullptr) throw DeviceError("vulkan: libshaderc returned no result");
    if (api_.result_get_compilation_status(result.get()) != kSuccess)
      throw glsl_error(api_.result_get_error_message(result.get()), file);
    return spirv::Module::words_of({api_.result_get_bytes(result.get()), api_.result_get_length(result.get())});
  }

 private:
  const ShadercApi api_;
  ShadercCompiler compiler_;  // lives as long as the library, which is never closed
};

}  // namespace

std::unique_ptr<GlslCompiler> load_shaderc() {
  constexpr const char* kLibrary = "libshaderc.so.1";
  const char* chosen = base::environment("KYMO_SHADERC_LIBRARY");
  const std::string file = chosen != nullptr && *chosen != '\0' ? chosen : kLibrary;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NotAvailable(base::format("{} (Debian: libshaderc1)", dlerror()));
  ShadercApi api;
  const auto load = [&](auto& function, const char* name, bool needed = true) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && needed)
      throw NotAvailable(base::format("{} has no function {} (Debian: libshaderc1)", file, name));
  };
  load(api.compiler_initialize, "shaderc_compiler_initialize");
  load(api.compile_options_initialize, "shaderc_compile_options_initialize");
  load(api.compile_options_release, "shaderc_compile_options_release");
  load(api.compile_options_add_macro_definition, "shaderc_compile_options_add_macro_definition");
  load(api.compile_options_set_generate_debug_info, "shaderc_compile_options_set_generate_debug_info");
  load(api.compile_options_set_optimization_level, "shaderc_compile_options_set_optimization_level");
  load(api.compile_options_set_target_env, "shaderc_compile_options_set_target_env");
  load(api.compile_options_set_preserve_bindings, "shaderc_compile_options_set_preserve_bindings", false);
  load(api.compile_into_spv, "shaderc_compile_into_spv");
  load(api.result_release, "shaderc_result_release");
  load(api.result_get_length, "shaderc_result_get_length");
  load(api.result_get_bytes, "shaderc_result_get_bytes");
  load(api.result_get_compilation_status, "shaderc_result_get_compilation_status");
  load(api.result_get_error_message, "shaderc_result_get_error_message");
  return std::make_unique<Shaderc>(api);
}

}  // namespace kymo::device::vulkan
