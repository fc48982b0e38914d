// The timed operations of one queue, until their tickets are redeemed. Each has two timestamps. If a timestamp costs as
// much as an operation (Mesa's driver for processors: 12 us), there are only two for a whole submission, and its
// operations share that time, unless a watcher wants the time of each (device/watcher.h). KYMO_VULKAN_TIMES=dispatch or
// =submission sets this. Used by one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "device/backend.h"
#include "device/vulkan/query_slots.h"

namespace kymo::device::vulkan {

class Tickets {
 public:
  // Throws InvalidArgument if KYMO_VULKAN_TIMES has another value.
  explicit Tickets(Context& context);

  bool possible() const { return context_.physical().timestamps; }
  // A new ticket. Returns its first query, which must be written now; empty if the submission already has its
  // timestamp.
  std::optional<QuerySlot> begin(Ticket* ticket);
  // The operation is completely queued and is done when the timeline has `value`. If it has its own times, the second
  // query must be written now.
  std::optional<QuerySlot> end(uint64_t value);
  // The submission is complete. Returns its last query, which must be written now, if it has timed operations.
  std::optional<QuerySlot> end_submission();

  // The timeline value at which it is done; 0: this ticket is not open (any more).
  uint64_t value_of(Ticket ticket) const;
  // Once it is done: returns its times and removes the ticket.
  Redeemed redeem(Ticket ticket, Timing& timing);
  void drop(Ticket ticket);

 private:
  struct Time {
    QuerySlot slot;
    uint32_t operations = 0, left = 0;  // that share it; of those, not redeemed
    uint64_t ticks[2] = {};
    bool own = false;  // for one operation, not for a submission
    bool read = false, there = false;
  };
  struct Open {
    std::shared_ptr<Time> time;
    uint64_t value = ~uint64_t{0};
    bool gone = false;
  };
  Open* find(Ticket ticket);

  enum class Times : uint8_t { OfEach, OfSubmissions, OfSubmissionsUnlessWanted };
  static Times choose(bool timestamps_are_slow);

  Context& context_;
  const Times times_;
  QuerySlots slots_;
  std::shared_ptr<Time> submission_;  // for the submission that is being recorded
  std::deque<Open> open_;
  Ticket first_ = 1;  // of open_.front()
};

}  // namespace kymo::device::vulkan
