// Walks the stack of another process, from a copy of its innermost part.
//
// Trusts nothing in the copy: it reads only inside of it, and every step goes further out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "sample/address_space.h"
#include "unwind/registers.h"
#include "unwind/stack_tree.h"

namespace kymo::sample {

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

// Stores the addresses, innermost first, as return addresses: the first one is one more than the instruction that was
// interrupted. Pass space for at least one.
WalkedCopy walk_copy(const CopiedStack& stack, AddressSpace& code, pid_t pid, std::span<uint64_t> addresses);

}  // namespace kymo::sample
