// The end of the process, and of what a forked child has of its parent's profiler.
#pragma once

namespace kymo::device {
class StreamState;
}

namespace kymo::profiler {

// This thread is about to queue on it, or has learnt that something ran on it. What was queued must be told of at
// exit() before its driver goes, so both register a handler of exit(), later than the driver's own, when they first see
// a stream. Otherwise each is a compare.
void note_stream_used(const device::StreamState& stream) noexcept;
void note_stream_ran(const device::StreamState& stream) noexcept;

// There will be something to print when the process ends, device or not.
void print_at_exit() noexcept;

// From now on a forked child begins with nothing.
void watch_forks() noexcept;

}  // namespace kymo::profiler
