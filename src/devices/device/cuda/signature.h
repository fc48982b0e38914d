// The declarations of kernels: from a mangled name, which contains the types, and from the source, which also contains
// the names of the parameters. Pure text functions. Nothing here fails: text that is not understood is skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/type_names.h"

namespace kymo::device::cuda {

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

}  // namespace kymo::device::cuda
