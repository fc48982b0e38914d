// What the threads of a window waited for.
//
//   a device        a call such as cudaDeviceSynchronize, or a copy that blocks: until the work has ended that was
//                   launched before the call
//   room            a launch into a full queue: until an operation of the queue has ended (operation_starts.h)
//   a wake-up       the kernel says which thread ended the wait, or who held the lock (thread_states.h)
//   a message       a flow ended on the thread, and between its send and its end the thread began and ended no range
//   another thread  the backward pass of PyTorch, which a thread of its own computed while this one began and ended no
//                   range; or a range whose name says that it waits, at whose end one other thread ended a range
//
// The waits of a thread do not overlap. If they would, one that is further up in this list counts.
#pragma once

#include "analyze/report/activity.h"
#include "analyze/report/host_calls.h"
#include "analyze/report/operation_starts.h"
#include "analyze/thread_states.h"

namespace kymo::analyze {

// Needs the ranges, operations and starts of the activity, and fills the waits and causes.
void find_waits(const EventWalk& walk, const HostCalls& calls, const DeviceCalls& device_calls,
                const StatesOfThreads* states, Activity& activity);

}  // namespace kymo::analyze
