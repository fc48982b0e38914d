// A device's queue that records: the kymo_queue of kymo/queue.h.
//
// It has its own page of memory, and a slot of the segment from its first record on. One user at a time may use it.
// Nothing here is for signal handlers.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "record/clock.h"
#include "record/layout.h"

inline constexpr uint32_t kQueueNameBytes = 96, kQueueUuidBytes = 64, kQueueDeviceBytes = 64, kQueuePairs = 2;

struct kymo_queue {
  uint64_t context, queue, clock;
  uint64_t period_numerator, period_denominator;
  uint32_t wrap_bits;
  uint32_t pid;  // of its process: in a forked child it records nothing
  char name[kQueueNameBytes], device_uuid[kQueueUuidBytes], device_name[kQueueDeviceBytes];  // NUL-terminated

  kymo::record::Slot* slot;                  // null: not in the segment yet
  uint64_t retry_at;                         // when to try again to get a slot, if there was none
  uint64_t last_time;                        // the newest device time seen: the time of a loss
  kymo::base::ClockPair pairs[kQueuePairs];  // the last two, the newest last
  uint32_t pair_count;
};

namespace kymo::record {

// Writes the queue's description and its clock into the ring. There must be space for `statement_cells` at the slot's
// head.
void state_queue(Slot& slot) noexcept;
uint32_t statement_cells(const kymo_queue& queue) noexcept;

}  // namespace kymo::record
