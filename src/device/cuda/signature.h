// The declarations of kernels: from a mangled name, which holds the types, and from the source, which holds the names
// of the parameters too. Pure text; nothing here fails: what is not understood is not found.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/type_names.h"

namespace kymo::device::cuda {

struct DeclaredParameter {
  std::string type;  // as written: "const float *"
  std::string name;  // empty: none was given
};

struct Signature {
  std::string name;  // "saxpy"; from a mangled name, with namespaces and template arguments: "math::scale<float, 4>"
  std::vector<DeclaredParameter> parameters;
};

// Of a mangled C++ name; nothing for one that is not, such as that of an extern "C" kernel.
std::optional<Signature> demangle_signature(const std::string& mangled);

struct SourceScan {
  std::vector<Signature> kernels;  // in the order of the source, overloads and explicit instantiations included
  Aliases aliases;
};

// The `__global__` functions of CUDA C++ and the simple aliases of types. Comments are left out, macros not expanded
// and both sides of an #if are read: the caller compares with what the compiler made.
SourceScan scan_source(std::string_view text);

// "scale" of "math::scale<float, 4>".
std::string_view unqualified(std::string_view name);

}  // namespace kymo::device::cuda
