#include "device/vulkan/tickets.h"

#include <cstdlib>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "device/watcher.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {

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

Redeemed Tickets::redeem(Ticket ticket, Timing& timing) {
  Open* open = find(ticket);
  if (open == nullptr) return Redeemed::Lost;
  Time& time = *open->time;
  if (!time.read) {
    time.there = slots_.read(time.slot, time.ticks);
    time.read = true;
  }
  timing = {time.ticks[0], time.ticks[1], time.operations};
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
