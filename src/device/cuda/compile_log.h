// The first error of a compiler's log, as kymo::CompileError: NVRTC's "shader(3): error: text", with a line below it
// that points at the column, and the assembler's "line 7; error : text".
#pragma once

#include <string>
#include <string_view>

#include "kymo/error.h"

namespace kymo::device::cuda {

CompileError compile_error(std::string_view log, std::string_view file);

}  // namespace kymo::device::cuda
