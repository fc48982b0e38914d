// A compiler's log, and its first error. Pure functions.
//
// Two forms are known: clang's, "FILE:LINE:COLUMN: error: TEXT", which NVIDIA, Intel and AMD print, and PoCL's, "error:
// FILE:LINE:COLUMN: TEXT". A log in another form is kept as a whole, without a position.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kymo/error.h"

namespace kymo::device::opencl {

struct FirstError {
  std::string file;
  uint32_t line = 0, column = 0;  // 0: unknown
  std::string text;
};
FirstError first_error(std::string_view log);

// The log with `file` instead of the names of the compiler's own temporary files, and without empty lines at its ends.
std::string cleaned_log(std::string_view log, std::string_view file);

CompileError compile_error(std::string_view log, std::string_view file);

}  // namespace kymo::device::opencl
