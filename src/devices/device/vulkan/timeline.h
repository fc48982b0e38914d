// The progress of a queue: a timeline semaphore. Each submission raises it by one when it is done.
//
// Shared by the queue, the markers that were recorded in it and the submissions of other queues that wait for it.
// Thread-safe. A query costs one load if the answer was known before, otherwise a driver call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/backend.h"
#include "device/vulkan/context.h"

namespace kymo::device::vulkan {

class Timeline {
 public:
  explicit Timeline(Context& context);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  VkSemaphore semaphore() const { return semaphore_; }
  bool reached(uint64_t value) { return known_.load(std::memory_order_acquire) >= value || refresh() >= value; }
  void wait(uint64_t value);  // blocks; throws DeviceError

 private:
  uint64_t refresh();

  Context& context_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::atomic<uint64_t> known_ = 0;
};

// Timestamp queries, handed out one by one or in pairs, always reset and ready to be written. Thread-safe: markers
// share those of the context, each queue has its own.
struct QuerySlot {
  VkQueryPool pool = VK_NULL_HANDLE;
  uint32_t first = 0;
};

class QuerySlots {
 public:
  QuerySlots(Context& context, uint32_t width) : context_(context), width_(width) {}
  ~QuerySlots();
  QuerySlots(const QuerySlots&) = delete;
  QuerySlots& operator=(const QuerySlots&) = delete;

  QuerySlot acquire();
  // The device must have finished with it.
  void release(const QuerySlot& slot);
  // The ticks that were written; false if there are none yet. `ticks` has `width` elements.
  bool read(const QuerySlot& slot, uint64_t* ticks);

 private:
  Context& context_;
  const uint32_t width_;
  std::mutex mutex_;
  std::vector<VkQueryPool> pools_;
  std::vector<QuerySlot> free_;
};

// A point in a queue: the value of its timeline at that point and, if requested, a timestamp.
class TimelineMarker final : public Marker {
 public:
  TimelineMarker(Context& context, QuerySlots* timestamps) : context_(context), timestamps_(timestamps) {}
  ~TimelineMarker() override;

  bool reached() override { return timeline_ == nullptr || timeline_->reached(value_); }
  void synchronize() override;
  std::optional<uint64_t> time() override;

  // For the queue. If the marker is timed: the query to write, then where the marker is.
  bool timed() const { return timestamps_ != nullptr; }
  QuerySlot next_slot();
  void recorded(std::shared_ptr<Timeline> timeline, uint64_t value);
  const std::shared_ptr<Timeline>& timeline() const { return timeline_; }
  uint64_t value() const { return value_; }

 private:
  // A query of an earlier record: free again once that record was reached.
  struct Past {
    QuerySlot slot;
    std::shared_ptr<Timeline> timeline;
    uint64_t value = 0;
  };
  void release_past();

  Context& context_;
  QuerySlots* timestamps_;  // null: not timed
  std::shared_ptr<Timeline> timeline_;
  uint64_t value_ = 0;
  std::optional<QuerySlot> slot_, pending_;
  std::vector<Past> past_;
};

// The timed operations of one queue, until their tickets are redeemed. Each has two timestamps. If a timestamp costs as
// much as an operation (Mesa's driver for processors: 12 us), there are only two for a whole submission, and its
// operations get equal parts of that time, unless a watcher wants the time of each (device/watcher.h).
// KYMO_VULKAN_TIMES=dispatch or =submission sets this. Used by one thread at a time.
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
