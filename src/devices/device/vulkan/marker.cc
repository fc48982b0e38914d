#include "device/vulkan/marker.h"

#include "kymo/error.h"

namespace kymo::device::vulkan {

TimelineMarker::~TimelineMarker() {
  // A query must not be reset while the device may still write it.
  if (timestamps_ == nullptr || context_.lost()) return;
  try {
    if (slot_) past_.push_back({*slot_, timeline_, value_});
    if (pending_) timestamps_->release(*pending_);
    for (const Past& past : past_) past.timeline->wait(past.value);
    release_past();
  } catch (const Error&) {
    // The device was lost meanwhile, and its queries too.
  }
}

void TimelineMarker::synchronize() {
  if (timeline_ != nullptr) timeline_->wait(value_);
}

std::optional<uint64_t> TimelineMarker::time() {
  if (!slot_ || !reached()) return std::nullopt;
  uint64_t ticks = 0;
  return timestamps_->read(*slot_, &ticks) ? std::optional(ticks) : std::nullopt;
}

QuerySlot TimelineMarker::next_slot() {
  release_past();
  if (!pending_) pending_ = timestamps_->acquire();
  return *pending_;
}

void TimelineMarker::recorded(std::shared_ptr<Timeline> timeline, uint64_t value) {
  if (slot_) past_.push_back({*slot_, timeline_, value_});
  slot_ = pending_;
  pending_.reset();
  timeline_ = std::move(timeline);
  value_ = value;
}

void TimelineMarker::release_past() {
  std::erase_if(past_, [&](const Past& past) {
    if (!past.timeline->reached(past.value)) return false;
    timestamps_->release(past.slot);
    return true;
  });
}

}  // namespace kymo::device::vulkan
