// SIGINT: the tables are printed before the process dies of it.
//
// While interrupts are watched Kymo has a handler for SIGINT. It wakes a thread of Kymo's own, which prints, and does
// what would have been done without: a handler of the program's is called at once, as it was installed; where there was
// none the process dies of SIGINT once the tables are out, or at once with the second SIGINT. Where SIGINT is ignored
// it stays ignored. A handler that the program installs later replaces Kymo's.
#pragma once

namespace kymo::profiler {

// Not by two threads at a time.
void watch_interrupts(bool on) noexcept;
// The child has the handler that the parent had before.
void drop_interrupts_in_child() noexcept;

}  // namespace kymo::profiler
