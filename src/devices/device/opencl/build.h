// Source text to a built program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

using BuiltProgram = Handle<cl_program>;

// `text` includes its preamble; `file` is for messages. Throws CompileError with the compiler's log. Compiles in the
// calling thread; the driver may have its own cache on disk.
BuiltProgram build(const Context& context, const std::string& text, const std::string& options, std::string_view file);

// Empty: the driver rejects it.
BuiltProgram build_binary(const Context& context, std::span<const std::byte> binary, const std::string& options);

// The driver's binary of a built program; empty if it returns none.
std::vector<std::byte> binary_of(const Context& context, cl_program program);

}  // namespace kymo::device::opencl
