// The stack of a sample: the addresses of the kernel's functions, then those of the program.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "sample/address_space.h"
#include "sample/kernel_names.h"
#include "sample/perf_record.h"
#include "unwind/stack_tree.h"
#include "unwind/walk.h"

namespace kymo::sample {

// The stack of another process: a copy of its innermost part.
struct CopiedStack {
  unwind::Registers at;  // where the thread was interrupted; `at.sp` is the address of the first byte
  uintptr_t link = 0;    // the return address register, on processors that have one
  base::Bytes bytes;
  bool is_cut = false;  // the stack goes on after them
};

struct WalkedCopy {
  size_t count = 0;
  unwind::Node root = unwind::kNoStack;  // how the stack ends (unwind/stack_tree.h)
};

// Walks a copy. Trusts nothing in it: it reads only inside of it, and every step goes further out. Stores the
// addresses, innermost first, as return addresses: the first one is one more than the instruction that was
// interrupted. Pass space for at least one. `ends` are where the frames of these functions end in the stack, if there
// is space for them.
WalkedCopy walk_copy(const CopiedStack& stack, AddressSpace& code, pid_t pid, std::span<uint64_t> addresses,
                     std::span<uint64_t> ends = {});

inline constexpr uint64_t kFirstKernelAddress = uint64_t{1} << 63;

class StackFinder {
 public:
  explicit StackFinder(KernelNames& kernel);

  // Innermost first. User addresses are return addresses; those of the kernel are the beginnings of functions. `root`
  // says how the stack ends. The result is valid until the next call.
  std::span<const uint64_t> find(const Record& record, AddressSpace& code, pid_t pid, unwind::Node& root);
  // Of the last result: where the frames of the functions end in the stack; of those of the kernel 0. Empty: it is not
  // known.
  std::span<const uint64_t> ends() const { return std::span(ends_).first(known_ends_); }

 private:
  size_t take_kernel(const Record& record, size_t& count);
  static uint64_t caller_of_leaf(const Record& record, uint64_t address, AddressSpace& code, pid_t pid);

  KernelNames& kernel_;
  std::vector<uint64_t> addresses_, ends_;
  size_t known_ends_ = 0;
};

// The registers of a sample: pc, sp, fp, and on processors that have one, the link register.
CopiedStack copied_stack(const Record& record);

}  // namespace kymo::sample
