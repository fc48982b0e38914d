// Captures the stack of the calling thread as return addresses.
//
// Two ways to walk it:
//
//   unwind tables    correct for all code with unwind tables, which is all code unless it was compiled without them.
//                    The rule of each frame is cached for all threads: about 10 ns per frame, 1 µs for a new one. If a
//                    stack has unusual frames (code that was generated at run time), the compiler's unwinder walks it,
//                    which takes about 250 ns per frame.
//   frame pointers   correct if all code on the stack was compiled with -fno-omit-frame-pointer: about 2 ns per frame.
//                    Other code is missing, or ends the stack there.
//
// For callers inside malloc: neither way allocates. Only in a thread's first capture, which finds the bounds of the
// stack, the C library may allocate; a capture inside that one works too, but is slow. The loader is asked if code was
// unloaded, and takes a lock. So capture before you take a lock that loading code may wait for, and not in a signal
// handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kymo::symbols {

enum class Method : uint8_t { UnwindTables, FramePointers };

// The method that KYMO_STACKS names ("unwind-tables", "frame-pointers"). Unwind tables if it is not set or has any
// other value.
Method chosen_method() noexcept;

// Fills `addresses` from the innermost frame to the outermost, without its own frame and `skip` more. Returns how many.
// Never fails, and reads nothing outside the thread's stack. On a stack that is not the thread's own (coroutines),
// frame pointers find nothing, and for unwind tables the compiler's unwinder is used.
size_t capture(std::span<uintptr_t> addresses, size_t skip, Method method) noexcept;

}  // namespace kymo::symbols
