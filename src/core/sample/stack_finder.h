// The stack of a sample: the addresses of the kernel's functions, then those of the program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "sample/address_space.h"
#include "sample/kernel_names.h"
#include "sample/perf_record.h"
#include "unwind/stack_tree.h"

namespace kymo::sample {

inline constexpr uint64_t kFirstKernelAddress = uint64_t{1} << 63;

class StackFinder {
 public:
  explicit StackFinder(KernelNames& kernel);

  // Innermost first. User addresses are return addresses; those of the kernel are the beginnings of functions. `root`
  // says how the stack ends. The result is valid until the next call.
  std::span<const uint64_t> find(const Record& record, AddressSpace& code, pid_t pid, unwind::Node& root);

 private:
  static uint64_t caller_of_leaf(const Record& record, uint64_t address, AddressSpace& code, pid_t pid);

  KernelNames& kernel_;
  std::vector<uint64_t> addresses_;
};

}  // namespace kymo::sample
