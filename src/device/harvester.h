// The thread that sees to finished device work (into the trace, to those who watch) while nobody else comes by.
//
// It exists only once there was such work, sleeps while nothing is pending, never records anything of its own, and
// is not joined: at the end of the process the last session's end has flushed everything (kymo_on_flush).
#pragma once

#include <cstdint>

namespace kymo::device {

// There is work pending on some stream: see to it that someone looks after it.
void watch_pending_work();

// Waits until `deadline_ns` (of CLOCK_MONOTONIC) for what was queued by now on all streams; what has not run then is
// counted as lost.
void harvest_all(uint64_t deadline_ns) noexcept;

}  // namespace kymo::device
