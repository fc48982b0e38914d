// A point in a queue: the value of its timeline at that point and, if requested, a timestamp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/backend.h"
#include "device/vulkan/query_slots.h"
#include "device/vulkan/timeline.h"

namespace kymo::device::vulkan {

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

}  // namespace kymo::device::vulkan
