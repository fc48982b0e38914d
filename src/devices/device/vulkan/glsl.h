// Compiles GLSL to SPIR-V, with a compiler that is looked up at run time: libshaderc.so.1 if it can be loaded
// (KYMO_SHADERC_LIBRARY names another library), else the program glslangValidator or glslang (KYMO_GLSLANG names
// another program).
//
// A text has one kernel, `main`. A text with lines `#pragma kernel NAME` has one kernel for each line: the function
// `void NAME()`. It is compiled with `#define NAME main`, so that each kernel is its own module. Arithmetic on floats
// is exact (spirv_exact.h), with or without `precise`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/vulkan/program.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {

// ---- Pure ----------------------------------------------------------------------------------------------------------

// The names in `#pragma kernel NAME`, in order. Throws CompileError for a line without a name, or for a name that
// occurs twice.
std::vector<std::string> kernel_pragmas(std::string_view text, std::string_view file);

struct GlslOptions {
  std::vector<std::pair<std::string, std::string>> macros;  // -DNAME, -DNAME=VALUE, -D NAME
  bool optimise = false;                                    // -O (shaderc only)
  bool debug = false;                                       // -g: lines and names
};
GlslOptions parse_glsl_options(const std::vector<std::string>& options);  // throws InvalidArgument

// Converts a log in glslang's form ("ERROR: PATH:3: TEXT") to shaderc's form ("FILE:3: error: TEXT"), and removes lines
// without information.
std::string tidy_glslang_log(std::string_view log, std::string_view path, std::string_view file);

// The first error of a log in shaderc's form.
CompileError glsl_error(std::string_view log, std::string_view file);

// ---- Compilers -----------------------------------------------------------------------------------------------------

// Thread safe.
class GlslCompiler {
 public:
  virtual ~GlslCompiler() = default;
  // Throws CompileError with a log in shaderc's form.
  virtual std::vector<uint32_t> compile(std::string_view text, const GlslOptions& options, std::string_view file) = 0;
};

// Throws NotAvailable: neither was found.
std::unique_ptr<GlslCompiler> find_glsl_compiler();
std::unique_ptr<GlslCompiler> load_shaderc();          // throws NotAvailable
std::unique_ptr<GlslCompiler> find_glslang_program();  // throws NotAvailable

// All kernels of a text.
std::vector<ModuleCode> compile_glsl(GlslCompiler& compiler, const Source& source);

}  // namespace kymo::device::vulkan
