// A compiler's log, and its first error. Pure.
//
// Two forms are known: clang's, "FILE:LINE:COLUMN: error: TEXT", which NVIDIA, Intel and AMD print, and PoCL's,
// "error: FILE:LINE:COLUMN: TEXT". A log in neither form is kept whole, without a place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kymo/error.h"

namespace kymo::device::opencl {

struct FirstError {
  std::string file;
  uint32_t line = 0, column = 0;  // 0: not told
  std::string text;
};
FirstError first_error(std::string_view log);

// The log with the names of the compiler's own temporary files replaced by `file`, and without empty lines at its ends.
std::string cleaned_log(std::string_view log, std::string_view file);

CompileError compile_error(std::string_view log, std::string_view file);

}  // namespace kymo::device::opencl
