// The bytes of Program::binary() and Accelerator::load(): the driver's machine code (a cubin) and, for each kernel in
// the order of kernels(), its name in the cubin.
//
//   8 bytes  "KYMOCUDA"      then for each kernel   4  length of its name, the name
//   4        version, 2      then                   8  length of the cubin, the cubin
//   4        kernels
//   4        1: they take a stamp, 0: they do not
//
// Little-endian. The packed bytes come from a file, so lengths are checked.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kymo::device::cuda {

struct UnpackedBinary {
  std::vector<std::string> names;
  bool stamps = false;
  std::span<const std::byte> cubin;  // into the packed bytes
};

std::vector<std::byte> pack_binary(std::span<const std::string> names, bool stamps, std::span<const std::byte> cubin);

// Empty if these are not such bytes, or if they are truncated.
std::optional<UnpackedBinary> unpack_binary(std::span<const std::byte> untrusted);

}  // namespace kymo::device::cuda
