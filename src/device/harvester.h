// The thread that writes finished device work into the trace while nobody else comes by.
//
// It exists only once something was recorded, sleeps while nothing is pending, never records anything of its own, and
// is not joined: at the end of the process the last session's end has flushed everything (kymo_on_flush).
#pragma once

namespace kymo::device {

// There is work pending on some stream: see to it that someone looks after it.
void watch_pending_work();

}  // namespace kymo::device
