// Kernels as machine code of the driver, loaded on one device.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/ptx/ptx.h"

namespace kymo::device::cuda {

// The bytes of Program::binary() and Accelerator::load(): the driver's machine code (a cubin) and, for each kernel in
// the order of kernels(), its name in the cubin.
//
//   8 bytes  magic, with the version      then for each kernel   its name
//   1        1: they take a stamp         then                   the length of the cubin, the cubin
//   varint   the number of kernels
//
// The packed bytes come from a file, so lengths are checked.
struct UnpackedBinary {
  std::vector<std::string> names;
  bool stamps = false;
  std::span<const std::byte> cubin;  // into the packed bytes
};

std::vector<std::byte> pack_binary(std::span<const std::string> names, bool stamps, std::span<const std::byte> cubin);

// Empty if these are not such bytes, or if they are truncated.
std::optional<UnpackedBinary> unpack_binary(std::span<const std::byte> untrusted);

// Assembles PTX to machine code for the current device. Throws CompileError, and NotAvailable if the driver has no
// assembler or is older than the PTX.
std::vector<std::byte> assemble(const Context& context, std::string_view ptx, std::string_view file);

class CudaProgram final : public Program {
 public:
  struct Kernel {
    CUfunction function = nullptr;
    // The number of parameters that the kernel's code has: all except the Local one of a kernel that was not
    // translated.
    uint32_t parameters = 0;
    // Of a translated kernel: the parameters that are group memory, passed as offsets in it.
    std::vector<uint32_t> locals;
    // Of a translated kernel that has group memory of its own only: bytes after all of it. Kernels are written for
    // devices that let them read an element after the end, whose value they then ignore; here that is an illegal
    // address if nothing follows. Which array is the last one is the compiler's choice, and this memory comes after it.
    uint32_t spare_group_bytes = 0;
    bool takes_grid = false;
    bool uses_simdgroups = false;
  };

  // `names` are the names in the code, one for each of `kernels`. If `stamps` is set, the kernels take a Stamp. Null if
  // the driver rejects the code. With `measure` the limits in `kernels` are read from the driver.
  static std::unique_ptr<CudaProgram> load(const Context& context, std::vector<std::string> names, bool stamps,
                                           std::vector<std::byte> cubin, std::vector<KernelInfo> kernels, bool measure);
  ~CudaProgram() override;

  std::span<const KernelInfo> kernels() const override { return kernels_; }
  std::vector<std::byte> binary() const override;
  const Kernel& kernel(uint32_t index) const { return functions_[index]; }
  bool stamps() const { return stamps_; }

 private:
  explicit CudaProgram(const Context& context) : context_(context) {}
  bool find_functions(bool measure);

  const Context& context_;
  CUmodule module_ = nullptr;
  std::vector<std::string> names_;
  bool stamps_ = false;
  std::vector<std::byte> cubin_;
  std::vector<KernelInfo> kernels_;
  std::vector<Kernel> functions_;
};

}  // namespace kymo::device::cuda
