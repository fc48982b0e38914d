// The interfaces of other tools that Kymo records in programs that were not written for it, and their counts.
//
// Each has an adapter in src/core/inject. The number of an interface is its place in the counts of the segment, so
// numbers never change.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/process.h"

namespace kymo::record {

enum class Interface : uint32_t {
  Nvtx = 0,
  OpenCl = 1,
  OpenMp = 2,
  Cuda = 3,
  Vulkan = 4,
  Nccl = 5,
  Itt = 6,
  Waits = 7,
  Torch = 8
};

// As in `kymo record --with` and `kymo info`, by number.
inline constexpr std::string_view kInterfaceNames[] = {"nvtx", "opencl", "openmp", "cuda", "vulkan",
                                                       "nccl", "itt",    "waits",  "torch"};
inline constexpr uint32_t kInterfaceCount = sizeof kInterfaceNames / sizeof kInterfaceNames[0];
static_assert(kInterfaceCount <= kMaxInterfaces);

constexpr std::string_view name_of(Interface which) { return kInterfaceNames[static_cast<uint32_t>(which)]; }

// All events with this class come from this interface, and the collector counts them. Costs the program nothing for an
// event; call it before the first one.
void set_interface(uint32_t class_id, Interface which) noexcept;

// Counts events of this thread that have no class of an interface. An addition to a cache line that only this thread
// uses. A thread without a ring counts in its private slot, which nobody reads: its events are not in the trace either.
inline void count_delivered(Slot& slot, Interface which, uint64_t events = 1) noexcept {
  std::atomic<uint64_t>& count = slot.delivered[static_cast<uint32_t>(which)];
  count.store(count.load(std::memory_order_relaxed) + events, std::memory_order_relaxed);
}

// The same for events that no thread of the program recorded (of a device's queue), for what could not be recorded, and
// for the time that an adapter spends. Does nothing while the process has no segment.
void add_interface(Interface which, uint64_t events, uint64_t lost, uint64_t cost_ns) noexcept;

// Whether the program has started work on a device that is not recorded yet. If the process ends in this state, because
// it was killed, its newest work is missing, and readers say so.
void set_pending(Interface which, bool is_pending) noexcept;

// The counts of a process since it has its segment.
struct InterfaceCounts {
  uint64_t events = 0, lost = 0, cost_ns = 0;
  bool is_pending = false;
};
InterfaceCounts interface_counts(SegmentHeader& header, const Geometry& geometry, uint32_t interface) noexcept;

}  // namespace kymo::record
