// Moves operations of a Vulkan device into the operations of the thread that requested them.
//
// A device runs later than the host: when an operation of the module has ended, its kernels have hardly started. If
// most of a module's time is device time, such a trace says little. So with adjust_vulkan_timestamps, the thread is
// shown as if it had waited for each device operation:
//
//   as it came   thread   |-conv-|-add-|                 adjusted   thread   |----conv----|-add-|
//                Vulkan              |---conv2d---|-a-|                      |---conv2d---|-a-|
//
// Each thread is adjusted separately, and only threads that requested Vulkan operations:
//   1. From the leaves up: an operation lasts as long as before, or as long as everything inside it together, if
//      that is longer. A Vulkan operation lasts as long as the device took.
//   2. From the top down, in the order of begin (for Vulkan operations: in the order of the requests): each operation
//      stays where it was, and moves along with its parent. It starts at the earliest at the end of the previous one,
//      and early enough that the operations after it still fit into the parent.
// So parents contain their children, siblings do not overlap, their order is kept, and operations that need no
// additional time stay where they were. The original times are in raw_start_ns and raw_end_ns.
#pragma once

#include <cstdint>

#include "edge/result.h"

namespace kymo::edge {

inline constexpr int32_t kVulkan = 10;  // DeviceId::type, as Kineto numbers devices

// Vulkan's events move from the device's rows to the thread's range of events, as children of the events that caused
// them (EdgeEvent::caused_by). An event that no operation requested becomes a root of its thread; if the result does
// not know that thread, the event is not changed. Indices into the events of the result are updated, and the tree is
// linked again.
void adjust_vulkan_timestamps(ResultData& result);

}  // namespace kymo::edge
