// The slow path of a store: everything that must be done before there is space for a record.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// Called with slot->busy set. Gets a slot for the thread, starts an epoch, moves records of signal handlers from the
// side buffer into the ring, wakes the collector, and waits or drops if the ring is full. Returns the slot with space
// for `cells` at its head, or null if the record must not be stored (it is counted). The slot may change; busy is set
// on the returned one and clear on all others.
Slot* make_room(Slot* slot, Kind kind, uint32_t class_id, uint32_t cells) noexcept;

// Gets a slot for this thread without storing anything. Null: it is inside a store, or there is no slot. That is
// counted as a lost event of this kind. Pad: not counted, because the event itself follows.
Slot* enter_ring(Kind kind = Kind::Instant) noexcept;

// For a signal handler that interrupted a store of its thread: puts one record into the side buffer, or counts a loss.
void store_aside(Slot& slot, Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t payload_cells) noexcept;

// Counts an event that could not be kept. It is written to the ledger with the next record that fits.
void count_loss(Slot& slot, uint32_t cause, uint32_t count) noexcept;

// Writes the last records of a thread that ends, or of a queue that is closed, as far as they fit.
void end_owner(Slot& slot, SegmentHeader& header) noexcept;

}  // namespace kymo::record
