// The timed operations of one queue: two timestamps each, from when an operation is queued until its ticket is
// redeemed. Used by one thread at a time.
#pragma once

#include <deque>

#include "device/backend.h"
#include "device/vulkan/query_slots.h"

namespace kymo::device::vulkan {

class Tickets {
 public:
  explicit Tickets(Context& context) : context_(context), slots_(context, 2) {}

  bool possible() const { return context_.physical().timestamps; }
  // A new ticket: its queries are `start` and the one after it.
  QuerySlot begin(Ticket* ticket);
  // Its operation is all queued and done when the timeline has `value`.
  void end(uint64_t value) { open_.back().value = value; }

  // When it will be done; 0: this ticket is not open (any more).
  uint64_t value_of(Ticket ticket) const;
  // Once it is done: its times, and it is gone.
  Redeemed redeem(Ticket ticket, Timing& timing);
  void drop(Ticket ticket);

 private:
  struct Open {
    QuerySlot slot;
    uint64_t value = ~uint64_t{0};
    bool gone = false;
  };
  Open* find(Ticket ticket);

  Context& context_;
  QuerySlots slots_;
  std::deque<Open> open_;
  Ticket first_ = 1;  // of open_.front()
};

}  // namespace kymo::device::vulkan
