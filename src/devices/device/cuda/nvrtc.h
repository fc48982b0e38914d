// NVRTC, the compiler from CUDA C++ to PTX, opened at run time.
//
// It takes the newest of libnvrtc.so.13, .12 and .11.2 that the driver supports (a driver rejects PTX that is newer
// than itself), then the one of the toolkit in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. If KYMO_NVRTC_LIBRARY is
// set, it takes only that library. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"

namespace kymo::device::cuda {

// Converts the first error of a compiler's log to kymo::CompileError. It knows NVRTC's form "shader(3): error: text",
// with a line below that marks the column, and the assembler's form "line 7; error : text".

CompileError compile_error(std::string_view log, std::string_view file);

struct NvrtcProgram;

// X(member, symbol, parameters); every result is a nvrtcResult, 0 for success.
#define KYMO_NVRTC_FUNCTIONS(X)                                                              \
  X(version, "nvrtcVersion", (int*, int*))                                                   \
  X(create, "nvrtcCreateProgram",                                                            \
    (NvrtcProgram**, const char*, const char*, int, const char* const*, const char* const*)) \
  X(destroy, "nvrtcDestroyProgram", (NvrtcProgram**))                                        \
  X(compile, "nvrtcCompileProgram", (NvrtcProgram*, int, const char* const*))                \
  X(ptx_size, "nvrtcGetPTXSize", (NvrtcProgram*, size_t*))                                   \
  X(ptx, "nvrtcGetPTX", (NvrtcProgram*, char*))                                              \
  X(log_size, "nvrtcGetProgramLogSize", (NvrtcProgram*, size_t*))                            \
  X(log, "nvrtcGetProgramLog", (NvrtcProgram*, char*))

class Nvrtc {
 public:
  // Loads it once per process. Throws NotAvailable, with the package to install, if there is none. `driver_version`:
  // 13000 for 13.0; 0 takes the first one that is found.
  static const Nvrtc& load(int driver_version);

  int version() const { return version_number_; }  // 13000 for 13.0

  // Compiles to PTX, for the compute capability `architecture` (90) or the nearest lower one that this NVRTC supports.
  // Does not contract a * b + c, compiles functions without a specifier for the device, uses C++20 (C++17 before CUDA
  // 12) and CUDA's own headers if they are found. `options` override this. Throws CompileError.
  std::string compile(std::string_view source, std::string_view file, int architecture,
                      std::span<const std::string> options) const;

 private:
  Nvrtc() = default;
  static const Nvrtc& open(const std::string& name);  // throws NotAvailable
  int nearest_architecture(int wanted) const;

#define KYMO_NVRTC_MEMBER(member, symbol, parameters) int(*member##_) parameters = nullptr;
  KYMO_NVRTC_FUNCTIONS(KYMO_NVRTC_MEMBER)
#undef KYMO_NVRTC_MEMBER
  int version_number_ = 0;
  std::vector<int> architectures_;  // that it supports; empty: it does not report them (before CUDA 11.2)
  std::vector<std::string> include_options_;
};

}  // namespace kymo::device::cuda
