// The calling thread's stack as return addresses.
//
// Two ways to walk it:
//
//   unwind tables    right for any code with unwind tables, which is all of it unless it was compiled without. How to
//                    leave a frame is remembered, for all threads: some 10 ns a frame, a microsecond for a new one. A
//                    stack with frames of an unusual form (code made at run time) is left to the compiler's unwinder,
//                    which takes some 250 ns a frame.
//   frame pointers   right where everything on the way was compiled with -fno-omit-frame-pointer: some 2 ns a frame.
//                    What was not is left out, or ends the stack there.
//
// For callers inside malloc: neither takes memory, but for a thread's first capture, in which the C library does to
// find out where the stack lies; a capture from within that one works too, the slow way. The loader is asked
// whether code was unloaded, and has a lock: capture before taking locks that loading code may wait for, and not in
// signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kymo::symbols {

enum class Method : uint8_t { UnwindTables, FramePointers };

// The method that KYMO_STACKS names ("unwind-tables", "frame-pointers"); unwind tables without it, and for other words.
Method chosen_method() noexcept;

// Fills `addresses` from the innermost frame outwards, leaving out `skip` frames beside its own; returns how many. Does
// not fail, and does not read outside the thread's stack: on one that is not the thread's own, as coroutines have,
// frame pointers find nothing, and tables are left to the compiler's unwinder.
size_t capture(std::span<uintptr_t> addresses, size_t skip, Method method) noexcept;

}  // namespace kymo::symbols
