// The bounds of stacks: a walk reads nothing outside of them.
#pragma once

#include <cstdint>

namespace kymo::unwind {

// The memory of a stack: [low, high). Empty: no stack.
struct StackBounds {
  uintptr_t low = 0, high = 0;
  bool hold(uintptr_t sp) const noexcept { return sp >= low && sp < high; }
};

// The stacks that a thread may use: its own, and the alternate stack for signal handlers, if any.
struct ThreadStacks {
  StackBounds own, alternate = {};
  StackBounds at(uintptr_t sp) const noexcept {
    if (own.hold(sp)) return own;
    return alternate.hold(sp) ? alternate : StackBounds{};
  }
};

// The stack of the calling thread; empty if not found. Uses /proc and not pthread_getattr_np, which takes a lock of the
// thread and allocates under it: a replacement of malloc would call it again and deadlock. Call it once per thread.
StackBounds find_own_stack() noexcept;

}  // namespace kymo::unwind
