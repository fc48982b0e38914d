// Compiles GLSL to SPIR-V, with the program glslangValidator or glslang (KYMO_GLSLANG names another program).
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
  bool debug = false;                                       // -g: lines and names
};
GlslOptions parse_glsl_options(const std::vector<std::string>& options);  // throws InvalidArgument

// Converts glslang's log ("ERROR: PATH:3: TEXT") to the usual form ("FILE:3: error: TEXT"), and removes lines without
// information.
std::string tidy_glslang_log(std::string_view log, std::string_view path, std::string_view file);

// The first error of a log in the usual form.
CompileError glsl_error(std::string_view log, std::string_view file);

// ---- The compiler --------------------------------------------------------------------------------------------------

// Thread safe.
class GlslCompiler {
 public:
  GlslCompiler();  // throws NotAvailable if the program is not found
  // Throws CompileError with a log in the usual form.
  std::vector<uint32_t> compile(std::string_view text, const GlslOptions& options, std::string_view file) const;

 private:
  std::string program_;
};

// All kernels of a text.
std::vector<ModuleCode> compile_glsl(const GlslCompiler& compiler, const Source& source);

}  // namespace kymo::device::vulkan
