// GLSL to SPIR-V, by a compiler that is found at run time: libshaderc.so.1 where it can be loaded (KYMO_SHADERC_LIBRARY
// names another), else the program glslangValidator or glslang (KYMO_GLSLANG names another).
//
// A text has one kernel, `main`. One with lines `#pragma kernel NAME` has one for each: the function `void NAME()`,
// which is compiled with `#define NAME main`, so that each is a module of its own. Arithmetic on floats is exact
// (spirv_exact.h), with or without `precise`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/vulkan/program.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {

// ---- Pure ----------------------------------------------------------------------------------------------------------

// The names in `#pragma kernel NAME`, in order. Throws CompileError for a line without a name, or a name twice.
std::vector<std::string> kernel_pragmas(std::string_view text, std::string_view file);

struct GlslOptions {
  std::vector<std::pair<std::string, std::string>> macros;  // -DNAME, -DNAME=VALUE, -D NAME
  bool optimise = false;                                    // -O (shaderc only)
  bool debug = false;                                       // -g: lines and names
};
GlslOptions parse_glsl_options(const std::vector<std::string>& options);  // throws InvalidArgument

// A log in glslang's own form ("ERROR: PATH:3: TEXT") in that of shaderc ("FILE:3: error: TEXT"), without what says
// nothing.
std::string tidy_glslang_log(std::string_view log, std::string_view path, std::string_view file);

// From a log in shaderc's form: its first error.
CompileError glsl_error(std::string_view log, std::string_view file);

// ---- Compilers -----------------------------------------------------------------------------------------------------

// Thread safe.
class GlslCompiler {
 public:
  virtual ~GlslCompiler() = default;
  // Throws CompileError with a log in shaderc's form.
  virtual std::vector<uint32_t> compile(std::string_view text, const GlslOptions& options, std::string_view file) = 0;
};

// Throws NotAvailable: neither is there.
std::unique_ptr<GlslCompiler> find_glsl_compiler();
std::unique_ptr<GlslCompiler> load_shaderc();          // throws NotAvailable
std::unique_ptr<GlslCompiler> find_glslang_program();  // throws NotAvailable

// All kernels of a text.
std::vector<ModuleCode> compile_glsl(GlslCompiler& compiler, const Source& source);

}  // namespace kymo::device::vulkan
