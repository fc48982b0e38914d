// Source text to a built program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "device/opencl/context.h"
#include "kymo/error.h"

namespace kymo::device::opencl {

using BuiltProgram = Handle<cl_program>;

// `text` includes its preamble; `file` is for messages. Throws CompileError with the compiler's log. Compiles in the
// calling thread; the driver may have its own cache on disk.
BuiltProgram build(const Context& context, const std::string& text, const std::string& options, std::string_view file);

// Empty: the driver rejects it.
BuiltProgram build_binary(const Context& context, std::span<const std::byte> binary, const std::string& options);

// The driver's binary of a built program; empty if it returns none.
std::vector<std::byte> binary_of(const Context& context, cl_program program);

// Adds stamps (ptx.h) to a built program, so that its kernels report themselves when they ran. NVIDIA's driver
// returns PTX as the binary of a program, and takes PTX.
//
// The same program with stamps: every kernel has a Stamp as its last parameter. Empty if this is not possible: the
// driver has no PTX, or an old version, or rejects the edited text.
BuiltProgram build_stamped(const Context& context, cl_program program, const std::string& options);

// A compiler's log, and its first error. Pure functions.
//
// Two forms are known: clang's, "FILE:LINE:COLUMN: error: TEXT", which NVIDIA, Intel and AMD print, and PoCL's, "error:
// FILE:LINE:COLUMN: TEXT". A log in another form is kept as a whole, without a position.
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
