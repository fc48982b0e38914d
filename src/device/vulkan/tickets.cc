#include "device/vulkan/tickets.h"

namespace kymo::device::vulkan {

QuerySlot Tickets::begin(Ticket* ticket) {
  const QuerySlot slot = slots_.acquire();
  open_.push_back({slot});
  *ticket = first_ + open_.size() - 1;
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
  uint64_t ticks[2] = {};
  const bool there = slots_.read(open->slot, ticks);
  slots_.release(open->slot);
  drop(ticket);
  if (!there) return Redeemed::Lost;
  timing = {ticks[0], ticks[1]};
  return Redeemed::Done;
}

void Tickets::drop(Ticket ticket) {
  if (Open* open = find(ticket)) open->gone = true;
  while (!open_.empty() && open_.front().gone) {
    open_.pop_front();
    ++first_;
  }
}

}  // namespace kymo::device::vulkan
