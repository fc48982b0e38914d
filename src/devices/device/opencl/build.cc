#include "device/opencl/build.h"

#include "device/opencl/build_log.h"
#include "device/opencl/error.h"

namespace kymo::device::opencl {
namespace {

std::string log_of(const Context& context, cl_program program) {
  size_t size = 0;
  const Api& cl = context.cl;
  if (cl.clGetProgramBuildInfo(program, context.device.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS)
    return {};
  std::string log(size, '\0');
  if (cl.clGetProgramBuildInfo(program, context.device.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
      CL_SUCCESS)
    return {};
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return log;
}

bool is_about_the_source(cl_int code) {
  return code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS || code == CL_INVALID_COMPILER_OPTIONS ||
         code == CL_LINK_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE;
}

}  // namespace

BuiltProgram build(const Context& context, const std::string& text, const std::string& options, std::string_view file) {
  const Api& cl = context.cl;
  const char* string = text.data();
  const size_t length = text.size();
  cl_int code = CL_SUCCESS;
  BuiltProgram program(cl.clCreateProgramWithSource(context.handle.get(), 1, &string, &length, &code),
                       cl.clReleaseProgram);
  check(code, "clCreateProgramWithSource");
  code = cl.clBuildProgram(program.get(), 1, &context.device.id, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  if (!is_about_the_source(code)) fail(code, "clBuildProgram");
  std::string log = log_of(context, program.get());
  if (log.empty()) log = "error: " + error_text(code, "clBuildProgram") + "; the options were: " + options;
  throw compile_error(log, file);
}

BuiltProgram build_binary(const Context& context, std::span<const std::byte> binary, const std::string& options) {
  const Api& cl = context.cl;
  const size_t length = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int taken = CL_SUCCESS, code = CL_SUCCESS;
  BuiltProgram program(
      cl.clCreateProgramWithBinary(context.handle.get(), 1, &context.device.id, &length, &bytes, &taken, &code),
      cl.clReleaseProgram);
  if (code != CL_SUCCESS || taken != CL_SUCCESS) return {};
  if (cl.clBuildProgram(program.get(), 1, &context.device.id, options.c_str(), nullptr, nullptr) != CL_SUCCESS)
    return {};
  return program;
}

std::vector<std::byte> binary_of(const Context& context, cl_program program) {
  const Api& cl = context.cl;
  size_t size = 0;
  if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS) return {};
  std::vector<std::byte> binary(size);
  std::byte* into = binary.data();
  if (size == 0 || cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof into, &into, nullptr) != CL_SUCCESS)
    return {};
  return binary;
}

}  // namespace kymo::device::opencl
