// The slow path of a store: what has to be seen to before there is room for a record.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// Entered with slot->busy set: gets the thread into the segment, opens an epoch, moves what signal handlers left aside
// into the ring, wakes the collector, waits or drops when the ring is full. Returns the slot with room for `cells` at
// its head, or null when the record is not to be stored (and is counted). `slot` may change; busy is set on the one
// returned, and clear on every other.
Slot* make_room(Slot* slot, Kind kind, uint32_t cells) noexcept;

// Gets this thread into the segment without storing anything. Null: it is inside a store, or there is no room for it.
Slot* enter_ring() noexcept;

// For a signal handler that finds its thread inside a store: one record into the side buffer, or a loss.
void store_aside(Slot& slot, Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t payload_cells) noexcept;

// Counts an event that could not be kept. The ledger gets it with the next record that finds room.
void count_loss(Slot& slot, uint32_t cause, uint32_t count) noexcept;

// What a thread that ends, or a queue that is closed, still has to say, as far as there is room for it.
void end_owner(Slot& slot, SegmentHeader& header) noexcept;

}  // namespace kymo::record
