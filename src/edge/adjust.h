// Moves operations of a Vulkan device inside the operations of the thread that asked for them.
//
// A device runs behind the host: an operation of the module is over when its kernels have hardly begun. For a module
// whose time is the device's that says little; so where it is asked for (adjust_vulkan_timestamps), the thread is shown
// as if it had waited for each:
//
//   as it came   thread   |-conv-|-add-|                 adjusted   thread   |----conv----|-add-|
//                Vulkan              |---conv2d---|-a-|                      |---conv2d---|-a-|
//
// Each thread by itself, and only those that asked Vulkan for something:
//   1. From the leaves up: an operation lasts as long as before, or as what is inside it together, if that is longer. A
//      Vulkan operation lasts as long as the device took.
//   2. From the top down, in the order of begin (of Vulkan operations: of being asked for): each where it was, carried
//      along with its parent; no sooner than the end of the one before it, and soon enough to leave room in the parent
//      for those behind it.
// So parents contain their children, siblings do not overlap, their order is kept, and what needs no room stays where
// it was. What came is in raw_start_ns and raw_end_ns.
#pragma once

#include <cstdint>

#include "edge/result_data.h"

namespace kymo::edge {

inline constexpr int32_t kVulkan = 10;  // DeviceId::type, as Kineto numbers devices

// Vulkan's events leave the device's rows and become children of what caused them (EdgeEvent::caused_by), in its
// thread's range of events. One that no operation asked for stands beside those of its thread, and is left alone where
// the result does not know that thread. Indices into events that the result holds follow them; the tree is linked anew.
void adjust_vulkan_timestamps(ResultData& result);

}  // namespace kymo::edge
