// The timed operations of one queue, from when an operation is queued until its ticket is redeemed. Two timestamps
// each; or, where a timestamp costs as much as an operation (Mesa's driver for processors: 12 us), two for all of a
// submission, which then share that time, unless a watcher wants those of each (device/watcher.h).
// KYMO_VULKAN_TIMES=dispatch or =submission settles it. Used by one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "device/backend.h"
#include "device/vulkan/query_slots.h"

namespace kymo::device::vulkan {

class Tickets {
 public:
  // Throws InvalidArgument where KYMO_VULKAN_TIMES is something else.
  explicit Tickets(Context& context);

  bool possible() const { return context_.physical().timestamps; }
  // A new ticket. Its first query is returned, to be written now; nothing where the submission has its timestamp
  // already.
  std::optional<QuerySlot> begin(Ticket* ticket);
  // Its operation is all queued and done when the timeline has `value`. Where it has times of its own, the query behind
  // its first is to be written now.
  std::optional<QuerySlot> end(uint64_t value);
  // The submission is complete: its last query, to be written now, where it has timed operations.
  std::optional<QuerySlot> end_submission();

  // When it will be done; 0: this ticket is not open (any more).
  uint64_t value_of(Ticket ticket) const;
  // Once it is done: its times, and it is gone.
  Redeemed redeem(Ticket ticket, Timing& timing);
  void drop(Ticket ticket);

 private:
  struct Time {
    QuerySlot slot;
    uint32_t operations = 0, left = 0;  // that have it; of those not redeemed
    uint64_t ticks[2] = {};
    bool own = false;  // of one operation, not of a submission
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
  std::shared_ptr<Time> submission_;  // of the one that is being recorded
  std::deque<Open> open_;
  Ticket first_ = 1;  // of open_.front()
};

}  // namespace kymo::device::vulkan
