// Times the operations of one stream: kernels by their own stamps (stamps.h), with an event for the end of very large
// ones, everything else by a pair of events around it. The events are reused once they are redeemed.
#pragma once

#include <vector>

#include "base/fifo.h"
#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"
#include "device/cuda/stamp_driver.h"
#include "device/stamps/stamps.h"

namespace kymo::device::cuda {

class Tickets {
 public:
  Tickets(const Context& context, EventClock& clock, TimerOffset& timer, CUstream stream)
      : context_(context), clock_(clock), stream_(stream), stamp_driver_(context, timer, stream) {}
  ~Tickets();
  Tickets(const Tickets&) = delete;
  Tickets& operator=(const Tickets&) = delete;

  // Around an operation: does nothing if `ticket` is null. If the code in between throws, there is no ticket.
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

  // The same for a launch of a kernel that can stamp, if there is a free slot.
  std::optional<Stamp> take_stamp(uint64_t warps) { return stamps_.take(warps); }
  Ticket stamped(const Stamp& stamp, uint64_t warps) {
    if (stamp.ends == 0) record_end();
    stamps_.launched(warps);
    return kStamped;
  }

  Redeemed redeem(Ticket ticket, Timing& timing);  // the context must be current
  void all_ran() { stamps_.read_all(); }  // the stream is idle: everything can be redeemed; the context must be current

 private:
  struct Pair {
    CUevent start = nullptr, end = nullptr;
  };

  static constexpr Ticket kStamped = ~Ticket{0};  // the oldest stamp: tickets are redeemed in order

  uint32_t begin();
  Ticket end(uint32_t index);
  Redeemed redeem_stamp(Timing& timing);
  void record_end();

  const Context& context_;
  EventClock& clock_;
  const CUstream stream_;
  std::vector<Pair> pairs_;
  std::vector<uint32_t> unused_;
  CudaStampDriver stamp_driver_;
  Stamps stamps_{stamp_driver_};
  base::Fifo<CUevent> ends_;  // of the stamped launches whose stamps have no ends
  std::vector<CUevent> unused_ends_;
  TimeOrder order_;
};

}  // namespace kymo::device::cuda
