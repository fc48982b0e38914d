// The end of the process, by exit() or SIGINT, and what a forked child does with its parent's profiler.
#pragma once

namespace kymo::device {
class StreamState;
}

namespace kymo::profiler {

// Call it when this thread is about to queue work on a stream, or has learnt that work ran on it. Queued work must be
// reported at exit() before its driver is unloaded. So the first call for a stream registers an exit() handler, later
// than the driver's own. All other calls cost a compare.
void note_stream_used(const device::StreamState& stream) noexcept;
void note_stream_ran(const device::StreamState& stream) noexcept;

// There is something to print when the process ends, with or without a device.
void print_at_exit() noexcept;

// From now on a forked child starts with an empty profiler.
void watch_forks() noexcept;

// SIGINT: prints the tables before the process ends. Not for two threads at a time.
//
// While interrupts are watched, Kymo has a handler for SIGINT. It wakes Kymo's own thread, which prints the tables, and
// then does what would have happened without Kymo. If the program had a handler, it is called at once, as it was
// installed. If it had none, SIGINT ends the process after the tables are printed, or at once with the second SIGINT.
// If SIGINT is ignored, it stays ignored. A handler that the program installs later replaces Kymo's.
void watch_interrupts(bool on) noexcept;

}  // namespace kymo::profiler
