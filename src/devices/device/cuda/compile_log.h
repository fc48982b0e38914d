// Converts the first error of a compiler's log to kymo::CompileError. It knows NVRTC's form "shader(3): error: text",
// with a line below that marks the column, and the assembler's form "line 7; error : text".
#pragma once

#include <string>
#include <string_view>

#include "kymo/error.h"

namespace kymo::device::cuda {

CompileError compile_error(std::string_view log, std::string_view file);

}  // namespace kymo::device::cuda
