// Where stacks lie: a walk reads nothing outside of them.
#pragma once

#include <cstdint>

namespace kymo::unwind {

// Memory that is a stack: [low, high). Empty: there is none.
struct StackBounds {
  uintptr_t low = 0, high = 0;
  bool hold(uintptr_t sp) const noexcept { return sp >= low && sp < high; }
};

// The stacks a thread may stand on: its own, and the one that signal handlers were given, if any.
struct ThreadStacks {
  StackBounds own, alternate = {};
  StackBounds at(uintptr_t sp) const noexcept {
    if (own.hold(sp)) return own;
    return alternate.hold(sp) ? alternate : StackBounds{};
  }
};

// The calling thread's own; empty where it cannot be found. By /proc, and not by pthread_getattr_np: that takes a lock
// of the thread and allocates under it, and who replaces malloc would ask again from there and wait forever. Once a
// thread.
StackBounds find_own_stack() noexcept;

}  // namespace kymo::unwind
