// Reads any bytes as PTX, as the CUDA C++ that belongs to it, and as a stored program. The CUDA backend gets all three
// from users and files.
//
// The input is split at its first zero byte: PTX before it, source after it. If the PTX is accepted, the prepared text
// must have the same number of lines, and one edge per kernel.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "device/cuda/compile_log.h"
#include "device/cuda/program_binary.h"
#include "device/cuda/reflection.h"
#include "kymo/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo;
  using namespace kymo::device::cuda;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(input.find('\0'), size);
  const std::string_view ptx = input.substr(0, zero), source = input.substr(std::min(zero + 1, size));
  looks_like_ptx(ptx);
  try {
    const PtxProgram program = prepare_ptx(ptx);
    if (std::count(program.text.begin(), program.text.end(), '\n') != std::count(ptx.begin(), ptx.end(), '\n'))
      std::abort();
    if (reflect(program, source).size() != program.entries.size()) std::abort();
  } catch (const Error&) {
    // Malformed input was refused.
  }
  compile_error(input, "fuzz");
  unpack_binary(std::as_bytes(std::span(data, size)));
  return 0;
}
