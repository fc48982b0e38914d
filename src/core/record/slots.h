// The slots of the segment: how a thread or a device's queue gets one and releases it.
//
// A thread that only pushes and pops while nothing records has a private slot without a ring, for its depth. Its first
// record gives it a slot in the segment. All of this is safe in a signal handler and in a thread-local destructor.
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

// Writes the last records of its owner and releases it. Another owner may take it immediately and writes after these
// records, or after the collector has read it if they fill more than half of the ring.
void give_back_slot(Slot& slot, SegmentHeader& header) noexcept;

// Counts a lost event of a thread or queue without a slot.
void count_loss_without_slot(SegmentHeader&) noexcept;

inline constexpr uint64_t kRetryNs = 100'000'000;  // between attempts to get a slot

// ---- The slot of the calling thread --------------------------------------------------------------------------------

// Initial-exec: one instruction to access, also in a shared library. Null: not known yet, or the thread may not record.
extern thread_local constinit Slot* this_slot __attribute__((tls_model("initial-exec"), visibility("hidden")));
Slot** this_slot_address() noexcept;

// The slot of this thread; creates it if needed. Null: it may not record (a thread of Kymo), or there is no memory.
Slot* find_slot() noexcept;

// The same, without a call if it is known. Every store starts with it.
inline Slot* own_slot() noexcept {
  Slot* slot = this_slot;
  return __builtin_expect(slot != nullptr, 1) ? slot : find_slot();
}

// Moves the thread from a slot without a ring to one in the segment, and sets that busy. Null: none is available; this
// is counted.
Slot* enter_segment(Process&, Slot& from, Kind kind) noexcept;

// The thread-exit hook.
void release_slot(void* slot) noexcept;

// In a forked child: this thread keeps its depth and stops using the parent's slot.
void leave_parents_slot(Process&) noexcept;

}  // namespace kymo::record
