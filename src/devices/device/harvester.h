// The thread that processes finished device work (for the trace and for watchers) while no other thread does.
//
// It is started with the first such work, sleeps while nothing is pending, and never records anything of its own. It is
// not joined: at the end of the process, the end of the last session has flushed everything (kymo_on_flush).
#pragma once

#include <cstdint>

namespace kymo::device {

// Work is pending on some stream: makes sure that the thread runs.
void watch_pending_work();

// Waits until `deadline_ns` (of CLOCK_MONOTONIC) for the work that is queued now on all streams. Work that has not run
// by then is counted as lost.
void harvest_all(uint64_t deadline_ns) noexcept;

}  // namespace kymo::device
