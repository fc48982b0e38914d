#include "device/vulkan/timeline.h"

#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "device/watcher.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {

Timeline::Timeline(Context& context) : context_(context) {
  auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto create = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  create.pNext = &type;
  context_.check(context_.api().vkCreateSemaphore(context_.device(), &create, nullptr, &semaphore_),
                 "vkCreateSemaphore");
}

Timeline::~Timeline() { context_.api().vkDestroySemaphore(context_.device(), semaphore_, nullptr); }

uint64_t Timeline::refresh() {
  uint64_t value = 0;
  context_.check(context_.api().vkGetSemaphoreCounterValue(context_.device(), semaphore_, &value),
                 "vkGetSemaphoreCounterValue");
  // Two threads may store different values. The greater one is kept.
  uint64_t known = known_.load(std::memory_order_relaxed);
  while (known < value && !known_.compare_exchange_weak(known, value, std::memory_order_release)) {
  }
  return value;
}

void Timeline::wait(uint64_t value) {
  if (reached(value)) return;
  auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_;
  info.pValues = &value;
  context_.check(context_.api().vkWaitSemaphores(context_.device(), &info, std::numeric_limits<uint64_t>::max()),
                 "vkWaitSemaphores");
  refresh();
}

namespace {
constexpr uint32_t kSlotsPerPool = 128;
}

QuerySlots::~QuerySlots() {
  for (const VkQueryPool pool : pools_) context_.api().vkDestroyQueryPool(context_.device(), pool, nullptr);
}

QuerySlot QuerySlots::acquire() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    auto create = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = kSlotsPerPool * width_;
    VkQueryPool pool = VK_NULL_HANDLE;
    context_.check(context_.api().vkCreateQueryPool(context_.device(), &create, nullptr, &pool), "vkCreateQueryPool");
    pools_.push_back(pool);
    context_.api().vkResetQueryPool(context_.device(), pool, 0, create.queryCount);
    for (uint32_t i = kSlotsPerPool; i-- > 0;) free_.push_back({pool, i * width_});
  }
  const QuerySlot slot = free_.back();
  free_.pop_back();
  return slot;
}

void QuerySlots::release(const QuerySlot& slot) {
  const std::lock_guard lock(mutex_);
  context_.api().vkResetQueryPool(context_.device(), slot.pool, slot.first, width_);
  free_.push_back(slot);
}

bool QuerySlots::read(const QuerySlot& slot, uint64_t* ticks) {
  const VkResult result =
      context_.api().vkGetQueryPoolResults(context_.device(), slot.pool, slot.first, width_, width_ * sizeof(uint64_t),
                                           ticks, sizeof(uint64_t), VK_QUERY_RESULT_64_BIT);
  context_.check(result, "vkGetQueryPoolResults");
  return result == VK_SUCCESS;
}

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

Tickets::Times Tickets::choose(bool timestamps_are_slow) {
  const char* wanted = base::environment("KYMO_VULKAN_TIMES");
  const std::string_view word = wanted == nullptr ? "" : wanted;
  if (word.empty()) return timestamps_are_slow ? Times::OfSubmissionsUnlessWanted : Times::OfEach;
  if (word == "submission") return Times::OfSubmissions;
  if (word == "dispatch") return Times::OfEach;
  throw InvalidArgument(base::format("KYMO_VULKAN_TIMES is \"{}\": use dispatch or submission", word));
}

Tickets::Tickets(Context& context)
    : context_(context), times_(choose(context.physical().slow_timestamps)), slots_(context, 2) {}

std::optional<QuerySlot> Tickets::begin(Ticket* ticket) {
  const bool own = times_ == Times::OfEach || (times_ == Times::OfSubmissionsUnlessWanted && own_times_wanted());
  std::shared_ptr<Time> time = own ? nullptr : submission_;
  const bool is_first = time == nullptr;
  if (is_first) {
    time = std::make_shared<Time>();
    time->slot = slots_.acquire();
    time->own = own;
    if (!own) submission_ = time;
  }
  ++time->operations;
  ++time->left;
  const QuerySlot slot = time->slot;
  open_.push_back({std::move(time)});
  *ticket = first_ + open_.size() - 1;
  return is_first ? std::optional(slot) : std::nullopt;
}

std::optional<QuerySlot> Tickets::end(uint64_t value) {
  Open& last = open_.back();
  last.value = value;
  return last.time->own ? std::optional(last.time->slot) : std::nullopt;
}

std::optional<QuerySlot> Tickets::end_submission() {
  if (submission_ == nullptr) return std::nullopt;
  const QuerySlot slot = submission_->slot;
  submission_.reset();
  return slot;
}

Tickets::Open* Tickets::find(Ticket ticket) {
  if (ticket < first_ || ticket - first_ >= open_.size()) return nullptr;
  Open& open = open_[ticket - first_];
  return open.gone ? nullptr : &open;
}

uint64_t Tickets::value_of(Ticket ticket) const {
  const Open* open = const_cast<Tickets*>(this)->find(ticket);
  return open == nullptr ? 0 : open->value;
}

namespace {

// The operations of a submission ran one after the other: each gets an equal part of its time.
Timing share_of(uint64_t begin, uint64_t end, uint64_t number, uint32_t operations) {
  if (operations <= 1 || end <= begin) return {begin, end};
  const uint64_t length = end - begin;
  const auto at = [&](uint64_t i) { return begin + length / operations * i + length % operations * i / operations; };
  return {at(number), at(number + 1), operations};
}

}  // namespace

Redeemed Tickets::redeem(Ticket ticket, Timing& timing) {
  Open* open = find(ticket);
  if (open == nullptr) return Redeemed::Lost;
  Time& time = *open->time;
  if (!time.read) {
    time.there = slots_.read(time.slot, time.ticks);
    time.read = true;
  }
  timing = share_of(time.ticks[0], time.ticks[1], time.operations - time.left, time.operations);
  const bool there = time.there;
  drop(ticket);
  return there ? Redeemed::Done : Redeemed::Lost;
}

void Tickets::drop(Ticket ticket) {
  if (Open* open = find(ticket)) {
    open->gone = true;
    if (--open->time->left == 0 && open->time->read) slots_.release(open->time->slot);
  }
  while (!open_.empty() && open_.front().gone) {
    open_.pop_front();
    ++first_;
  }
}

}  // namespace kymo::device::vulkan
