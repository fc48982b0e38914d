#include "device/cuda/tickets.h"

#include <algorithm>

namespace kymo::device::cuda {

Tickets::~Tickets() {
  while_current(context_, [this] {
    for (const Pair& pair : pairs_) {
      context_.api.event_destroy(pair.start);
      context_.api.event_destroy(pair.end);
    }
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

// The stream is in order. Times from different bases, seconds apart, or from another method may be out of order by some
// tens of ns.
void Tickets::put_in_order(Timing& timing) {
  timing.start = std::max(timing.start, last_end_);
  timing.end = std::max(timing.end, timing.start);
  last_end_ = timing.end;
}

Redeemed Tickets::redeem(Ticket ticket, Timing& timing) {
  if (ticket == kStamped) {
    const Redeemed redeemed = stamps_.redeem(timing);
    if (redeemed == Redeemed::Done) put_in_order(timing);
    return redeemed;
  }
  const Api& api = context_.api;
  const Pair& pair = pairs_[ticket];
  const CUresult result = api.event_query(pair.end);
  if (result == CUDA_ERROR_NOT_READY) return Redeemed::Pending;
  unused_.push_back(static_cast<uint32_t>(ticket));
  if (result != CUDA_SUCCESS) return Redeemed::Lost;
  clock_.tend();  // a long operation ends far from the bases that were recorded when it began
  timing = {clock_.ticks_of(pair.start), clock_.ticks_of(pair.end)};
  put_in_order(timing);
  return Redeemed::Done;
}

}  // namespace kymo::device::cuda
