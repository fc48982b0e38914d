// The segment's slots: how a thread or a device's queue comes by one and gives it back. Safe in a signal handler.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// The segment to record into. A forked child's first record makes it, with its own collector where the parent had one.
// Null: there is none to be had, and recording is off now.
SegmentHeader* segment_for_recording(Process&) noexcept;

// A slot that is the caller's from now on: live, with an empty history, busy, and before its first epoch. Null: there
// is none to be had. May wait for the collector where that gives one back soon (policy `block`).
Slot* take_slot(Process&, SegmentHeader&) noexcept;

// Writes what its owner still has to say and lets go of it. The next one may have it at once, or when the collector has
// read it.
void give_back_slot(Slot& slot, SegmentHeader& header) noexcept;

// An event of someone who has no slot.
void count_loss_without_slot(SegmentHeader&) noexcept;

inline constexpr uint64_t kRetryNs = 100'000'000;  // between looks for a slot when there was none

}  // namespace kymo::record
