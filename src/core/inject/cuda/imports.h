// Leads calls between libraries of the program elsewhere: a library calls a function of another one through a pointer,
// which the dynamic linker sets, and which can be set again.
#pragma once

#include <cstddef>
#include <span>

namespace kymo::inject::cuda {

struct Import {
  const char* name;
  void* function;
};

// In all libraries that are loaded now and are linked with one whose name begins with `library` ("libcupti.so").
// Returns how many pointers lead to these functions now. Does not allocate; any thread may call it, at any time.
size_t replace_imports(const char* library, std::span<const Import> imports) noexcept;

}  // namespace kymo::inject::cuda
