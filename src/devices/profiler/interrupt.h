// SIGINT: prints the tables before the process ends.
//
// While interrupts are watched, Kymo has a handler for SIGINT. It wakes Kymo's own thread, which prints the tables, and
// then does what would have happened without Kymo. If the program had a handler, it is called at once, as it was
// installed. If it had none, SIGINT ends the process after the tables are printed, or at once with the second SIGINT.
// If SIGINT is ignored, it stays ignored. A handler that the program installs later replaces Kymo's.
#pragma once

namespace kymo::profiler {

// Not for two threads at a time.
void watch_interrupts(bool on) noexcept;
// Restores the parent's previous handler in the child.
void drop_interrupts_in_child() noexcept;

}  // namespace kymo::profiler
