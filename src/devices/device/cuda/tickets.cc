#include "device/cuda/tickets.h"

namespace kymo::device::cuda {

Tickets::~Tickets() {
  while_current(context_, [this] {
    for (const Pair& pair : pairs_) {
      context_.api.event_destroy(pair.start);
      context_.api.event_destroy(pair.end);
    }
    for (; !ends_.empty(); ends_.pop_front()) unused_ends_.push_back(ends_.front());
    for (const CUevent event : unused_ends_) context_.api.event_destroy(event);
  });
}

uint32_t Tickets::begin() {
  const Api& api = context_.api;
  clock_.tend();
  if (unused_.empty()) {
    Pair pair;
    check(api, api.event_create(&pair.start, CU_EVENT_DEFAULT), "cuEventCreate");
    check(api, api.event_create(&pair.end, CU_EVENT_DEFAULT), "cuEventCreate");
    pairs_.push_back(pair);
    unused_.push_back(static_cast<uint32_t>(pairs_.size() - 1));
  }
  const uint32_t index = unused_.back();
  check(api, api.event_record(pairs_[index].start, stream_), "cuEventRecord");
  unused_.pop_back();
  return index;
}

Ticket Tickets::end(uint32_t index) {
  check(context_.api, context_.api.event_record(pairs_[index].end, stream_), "cuEventRecord");
  return index;
}

void Tickets::record_end() {
  const Api& api = context_.api;
  clock_.tend();
  if (unused_ends_.empty()) {
    CUevent event = nullptr;
    check(api, api.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    unused_ends_.push_back(event);
  }
  check(api, api.event_record(unused_ends_.back(), stream_), "cuEventRecord");
  ends_.push_back(unused_ends_.back());
  unused_ends_.pop_back();
}

Redeemed Tickets::redeem_stamp(Timing& timing) {
  const Redeemed redeemed = stamps_.redeem(timing);
  if (redeemed != Redeemed::Done) return redeemed;
  if (timing.end == 0) {
    timing.end = clock_.ticks_of(ends_.front());
    unused_ends_.push_back(ends_.front());
    ends_.pop_front();
  }
  order_.apply(timing);
  return redeemed;
}

Redeemed Tickets::redeem(Ticket ticket, Timing& timing) {
  if (ticket == kStamped) return redeem_stamp(timing);
  const Api& api = context_.api;
  const Pair& pair = pairs_[ticket];
  const CUresult result = api.event_query(pair.end);
  if (result == CUDA_ERROR_NOT_READY) return Redeemed::Pending;
  unused_.push_back(static_cast<uint32_t>(ticket));
  if (result != CUDA_SUCCESS) return Redeemed::Lost;
  clock_.tend();  // a long operation ends far from the bases that were recorded when it began
  timing = {clock_.ticks_of(pair.start), clock_.ticks_of(pair.end)};
  order_.apply(timing);
  return Redeemed::Done;
}

}  // namespace kymo::device::cuda
