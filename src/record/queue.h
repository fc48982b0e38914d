// A device's queue that records: what kymo/queue.h hands out as a kymo_queue.
//
// It lives in a page of its own and has a slot of the segment from its first record on. Whoever holds it may use it;
// nothing here is for signal handlers.
#pragma once

#include <cstdint>

#include "record/clock.h"
#include "record/layout.h"

inline constexpr uint32_t kQueueNameBytes = 96, kQueueUuidBytes = 64, kQueuePairs = 2;

struct kymo_queue {
  uint64_t context, queue, clock;
  uint64_t period_numerator, period_denominator;
  uint32_t wrap_bits;
  uint32_t pid;                                              // whose it is: in a forked child it is silent
  char name[kQueueNameBytes], device_uuid[kQueueUuidBytes];  // NUL-terminated

  kymo::record::Slot* slot;               // null: not in the segment yet
  uint64_t retry_at;                      // when to look for a slot again, where there was none
  uint64_t last_time;                     // the newest device time seen: when what is lost was lost
  kymo::record::Pair pairs[kQueuePairs];  // the last two, the newest last
  uint32_t pair_count;
};

namespace kymo::record {

// Says in the ring who this is and how its clock stands. `statement_cells` must fit at the slot's head.
void state_queue(Slot& slot) noexcept;
uint32_t statement_cells(const kymo_queue& queue) noexcept;

}  // namespace kymo::record
