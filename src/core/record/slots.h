// The slots of the segment: how a thread or a device's queue gets one and releases it. Safe in a signal handler.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// The segment to record into. In a forked child the first record creates it, with its own collector if the parent had
// one. Null: not available, and recording is off now.
SegmentHeader* segment_for_recording(Process&) noexcept;

// Gives the caller a slot: live, empty, busy, and before its first epoch. Null: none is available. May wait for the
// collector if it will soon free one (policy `block`).
Slot* take_slot(Process&, SegmentHeader&) noexcept;

// Writes the last records of its owner and releases it. Another owner may take it immediately, or after the collector
// has read it.
void give_back_slot(Slot& slot, SegmentHeader& header) noexcept;

// Counts a lost event of a thread or queue without a slot.
void count_loss_without_slot(SegmentHeader&) noexcept;

inline constexpr uint64_t kRetryNs = 100'000'000;  // between attempts to get a slot

}  // namespace kymo::record
