// Timed operations of one queue, until their time on the device is known. Used by one thread at a time.
//
// Kernels that can stamp report their times themselves (stamps.h). All others, and copies and fills, have the profiling
// times of their events, which cost much more on NVIDIA's driver.
#pragma once

#include <deque>

#include "device/opencl/context.h"
#include "device/opencl/stamp_driver.h"
#include "device/stamps/stamps.h"

namespace kymo::device::opencl {

class Tickets {
 public:
  Tickets(Context& context, TimerCheck& timer, const CommandQueue& queue)
      : context_(context), stamp_driver_(context, timer, queue) {}

  // For an operation of one command, or of several that run one after the other: then pass the first and the last.
  Ticket give(Event first, Event last = {});

  // For a launch of a kernel that takes a stamp. Empty: it needs events. If the stamp has no ends, the event of the
  // launch is its end.
  std::optional<Stamp> take_stamp(const Launch& launch);
  Ticket give_stamped(const Launch& launch, Event end);

  void all_ran() { stamps_.read_all(); }  // the queue is idle: everything can be redeemed

  // As documented for Queue::redeem. `failure` gets the code of a command that failed.
  Redeemed redeem(Ticket ticket, Timing& timing, cl_int& failure);

 private:
  struct Pending {
    Event first, last;  // if `last` is empty, it is the same as `first`
    bool stamped = false;
  };

  Redeemed look(const Pending& pending, Timing& timing, cl_int& failure) const;
  Redeemed look_at_stamp(const Pending& pending, Timing& timing, cl_int& failure);

  const Context& context_;
  OpenClStampDriver stamp_driver_;
  Stamps stamps_{stamp_driver_};
  TimeOrder order_;
  std::deque<Pending> pending_;
  Ticket oldest_ = 1;  // number of pending_.front()
};

}  // namespace kymo::device::opencl
