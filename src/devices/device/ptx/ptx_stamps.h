// Kernels report when they ran: the kernel itself stores the device's timer. This needs no call to the driver, so a
// timed launch costs the same as a launch without timing.
//
//   start   thread 0 of group 0, which the device starts first, stores the time
//   end     every warp, when its threads exit, raises the end to the current time
//
// The end is raised by an atomic maximum without a result, so nothing waits for it. The warps of a large launch would
// compete for one word. So they share several words, by the number of their multiprocessor, and the host takes the
// latest.
//
// The timer is %globaltimer: nanoseconds, in steps of 32 on Hopper (up to a microsecond on other devices). The times do
// not include the time that the device needs to start a launch and to write back its caches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::device {

// The parameter of every kernel that can stamp. It is the last one.
struct Stamp {
  uint64_t start = 0;  // address for the start; 0: none
  uint64_t ends = 0;   // address of the ends, kStampLine bytes apart; 0: none
  uint32_t mask = 0;   // the number of ends, a power of two, minus 1
  uint32_t unused = 0;
};
static_assert(sizeof(Stamp) == 24);
inline constexpr uint32_t kStampLine = 128;

// Text on one line, each in its own scope. `name` is the kernel's name; `number` distinguishes the exits of one kernel.
std::string stamp_parameter(std::string_view name);
std::string stamp_start(std::string_view name);
std::string stamp_end(std::string_view name, size_t number);

// The instructions need PTX 6.2 and sm_70.
bool can_stamp(uint32_t version_major, uint32_t version_minor, uint32_t architecture);

}  // namespace kymo::device
