// Kernels tell when they ran: the device's own timer, stored by the kernel itself. No call to the driver is needed for
// it, so a timed launch costs what a launch costs.
//
//   start   thread 0 of group 0, which the device starts first, stores the time
//   end     every warp, when its threads leave, raises the end to the time then
//
// Raising is an atomic maximum without a result: nobody waits for it. Warps of a large launch would queue up for one
// word, so they share several, by the number of their multiprocessor, and the host takes the latest.
//
// The timer is %globaltimer: nanoseconds, in steps of 32 on Hopper (of up to a microsecond on other devices). What the
// device needs to get going and to write back its caches is not in the times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::device::cuda {

// The parameter of every kernel that can stamp, behind the edge.
struct Stamp {
  uint64_t start = 0;  // where the start goes; 0: nowhere
  uint64_t ends = 0;   // where the ends go, kStampLine bytes apart; 0: nowhere
  uint32_t mask = 0;   // how many of them, a power of two, less 1
  uint32_t unused = 0;
};
static_assert(sizeof(Stamp) == 24);
inline constexpr uint32_t kStampLine = 128;

// Text on one line, each in a scope of its own. `name` is the kernel's; `number` tells the places of one kernel apart.
std::string stamp_parameter(std::string_view name);
std::string stamp_start(std::string_view name);
std::string stamp_end(std::string_view name, size_t number);

// What the instructions need: PTX 6.2, sm_70.
bool can_stamp(uint32_t version_major, uint32_t version_minor, uint32_t architecture);

}  // namespace kymo::device::cuda
