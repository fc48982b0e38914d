// Times the operations of one stream: a pair of events around each, kept for the next once redeemed.
#pragma once

#include <vector>

#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"

namespace kymo::device::cuda {

class Tickets {
 public:
  Tickets(const Context& context, EventClock& clock, CUstream stream)
      : context_(context), clock_(clock), stream_(stream) {}
  ~Tickets();
  Tickets(const Tickets&) = delete;
  Tickets& operator=(const Tickets&) = delete;

  // Around an operation: does nothing where `ticket` is null. What throws in between gives no ticket.
  class Scope {
   public:
    Scope(Tickets& tickets, Ticket* ticket) : tickets_(tickets), ticket_(ticket) {
      if (ticket_ != nullptr) index_ = tickets_.begin();
    }
    ~Scope() {
      if (ticket_ != nullptr) tickets_.unused_.push_back(index_);
    }
    void end() {
      if (ticket_ == nullptr) return;
      *ticket_ = tickets_.end(index_);
      ticket_ = nullptr;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Tickets& tickets_;
    Ticket* ticket_;
    uint32_t index_ = 0;
  };

  Redeemed redeem(Ticket ticket, Timing& timing);  // current

 private:
  struct Pair {
    CUevent start = nullptr, end = nullptr;
  };

  uint32_t begin();
  Ticket end(uint32_t index);

  const Context& context_;
  EventClock& clock_;
  const CUstream stream_;
  std::vector<Pair> pairs_;
  std::vector<uint32_t> unused_;
  uint64_t last_end_ = 0;
};

}  // namespace kymo::device::cuda
