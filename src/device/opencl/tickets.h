// Operations whose time on the device was asked for, until it is told. Used by one thread at a time.
#pragma once

#include <deque>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class Tickets {
 public:
  explicit Tickets(const Context& context) : context_(context) {}

  // For an operation of one command, or of several that ran one after the other: then its first and its last.
  Ticket give(Event first, Event last = {});

  // What Queue::redeem promises. `failure` becomes the code of a command that failed.
  Redeemed redeem(Ticket ticket, Timing& timing, cl_int& failure);

 private:
  struct Pending {
    Event first, last;  // no last: it is the first
  };

  Redeemed look(const Pending& pending, Timing& timing, cl_int& failure) const;

  const Context& context_;
  std::deque<Pending> pending_;
  Ticket oldest_ = 1;  // number of pending_.front()
};

}  // namespace kymo::device::opencl
