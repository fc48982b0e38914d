// The parameters of a compiled program's kernels, combined from the PTX (exact sizes), the mangled names (types) and
// the source (types of extern "C" kernels, names).
//
// If they disagree, PTX is right: a parameter whose declared type has another size gets the kind Unknown, and a
// declaration with another number of parameters is not used. Eight bytes of unknown type, as in a kernel that a macro
// declares, get the kind Word. A kernel that uses an `extern __shared__` array has one parameter more than its
// declaration: the last one, of kind Local, is the size of that array in bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/backend.h"
#include "device/ptx/ptx.h"
#include "kymo/dtype.h"

namespace kymo::device::cuda {

// The declarations of kernels: from a mangled name, which contains the types, and from the source, which also contains
// the names of the parameters. Pure text functions. Nothing here fails: text that is not understood is skipped.

// CUDA C++ text as words: enough to find declarations, not to compile.
struct SourceTokens {
  // Identifiers, numbers, "::", single other characters. No comments, literals or preprocessor lines.
  std::vector<std::string_view> tokens;
  std::vector<std::pair<std::string_view, std::string_view>> defines;  // #define NAME VALUE, without parameters
};

SourceTokens split_source(std::string_view text);

// What the name of a C++ type says about a kernel's parameter: `float4` takes four f32, `const __half*` a buffer of
// f16.
struct NamedType {
  bool pointer = false;
  std::optional<DType> element;  // of the value, or of the pointee; empty for a structure, void or a pointer
  uint32_t count = 1;            // number of components of a vector
};

// Other names that the source gives to types: typedef, using, #define.
using Aliases = std::map<std::string, std::string, std::less<>>;

// Understands the output of __cxa_demangle and hand-written code: qualifiers, `unsigned`, size_t, uint8_t, half,
// float4, ….
NamedType type_named(std::string_view text, const Aliases& aliases);

// A word before a type that does not change the type: const, struct, __restrict__, …
bool is_qualifier(std::string_view word);

struct DeclaredParameter {
  std::string type;  // as written: "const float *"
  std::string name;  // empty: it has no name
};

struct Signature {
  std::string name;  // "saxpy"; from a mangled name, with namespaces and template arguments: "math::scale<float, 4>"
  std::vector<DeclaredParameter> parameters;
};

// From a mangled C++ name; empty for other names, such as that of an extern "C" kernel.
std::optional<Signature> demangle_signature(const std::string& mangled);

struct SourceScan {
  std::vector<Signature> kernels;  // in the order of the source, overloads and explicit instantiations included
  Aliases aliases;
};

// The `__global__` functions of CUDA C++ and the simple type aliases. Comments are left out, macros are not expanded,
// and both sides of an #if are read. So the caller must compare the result with the compiler's output.
SourceScan scan_source(std::string_view text);

// "scale" of "math::scale<float, 4>".
std::string_view unqualified(std::string_view name);

// One for each entry, in their order: name, parameters and required group. `source` is empty for hand-written PTX.
std::vector<KernelInfo> reflect(const PtxProgram& program, std::string_view source);

// Checks that the program contains each of `kernels`, which a translator described, with the same number of parameters.
// Throws CompileError.
void check_translated(const PtxProgram& program, std::span<const KernelInfo> kernels);

}  // namespace kymo::device::cuda
