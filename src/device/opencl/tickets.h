// Timed operations, until their time on the device is known. Used by one thread at a time.
#pragma once

#include <deque>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class Tickets {
 public:
  explicit Tickets(const Context& context) : context_(context) {}

  // For an operation of one command, or of several that run one after the other: then pass the first and the last.
  Ticket give(Event first, Event last = {});

  // As documented for Queue::redeem. `failure` gets the code of a command that failed.
  Redeemed redeem(Ticket ticket, Timing& timing, cl_int& failure);

 private:
  struct Pending {
    Event first, last;  // if `last` is empty, it is the same as `first`
  };

  Redeemed look(const Pending& pending, Timing& timing, cl_int& failure) const;

  const Context& context_;
  std::deque<Pending> pending_;
  Ticket oldest_ = 1;  // number of pending_.front()
};

}  // namespace kymo::device::opencl
