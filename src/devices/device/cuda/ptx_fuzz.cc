// Reads any bytes as PTX, as the CUDA C++ that belongs to it, and as a stored program. The CUDA backend gets all three
// from users and files; the OpenCL backend gets PTX from a driver.
//
// The input is split at its first zero byte: PTX before it, source after it. If the PTX is accepted, the edited text
// must have the same number of lines. As edited for OpenCL, it must have the same kernels, each with one more parameter
// if they are stamped.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "device/cuda/nvrtc.h"
#include "device/cuda/program.h"
#include "device/cuda/reflection.h"
#include "device/ptx/ptx.h"
#include "kymo/error.h"

namespace {

void check_lines(std::string_view before, std::string_view after) {
  if (std::count(before.begin(), before.end(), '\n') != std::count(after.begin(), after.end(), '\n')) std::abort();
}

void stamp(std::string_view ptx) {
  using namespace kymo::device;
  PtxProgram once;
  try {
    once = stamp_ptx(ptx);
  } catch (const kymo::Error&) {
    return;
  }
  check_lines(ptx, once.text);
  const PtxProgram twice = stamp_ptx(once.text);
  if (once.stamps != twice.stamps || once.entries.size() != twice.entries.size()) std::abort();
  for (size_t i = 0; i < once.entries.size(); ++i) {
    const PtxEntry &before = once.entries[i], &after = twice.entries[i];
    if (before.name != after.name || after.parameters.size() != before.parameters.size() + (once.stamps ? 1 : 0))
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo;
  using namespace kymo::device;
  using namespace kymo::device::cuda;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(input.find('\0'), size);
  const std::string_view ptx = input.substr(0, zero), source = input.substr(std::min(zero + 1, size));
  looks_like_ptx(ptx);
  try {
    const PtxProgram program = prepare_ptx(ptx);
    check_lines(ptx, program.text);
    if (reflect(program, source).size() != program.entries.size()) std::abort();
  } catch (const Error&) {
    // Malformed input was refused.
  }
  stamp(ptx);
  compile_error(input, "fuzz");
  unpack_binary(std::as_bytes(std::span(data, size)));
  return 0;
}
