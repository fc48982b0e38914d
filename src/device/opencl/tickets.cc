#include "device/opencl/tickets.h"

namespace kymo::device::opencl {

Ticket Tickets::give(Event first, Event last) {
  pending_.push_back({std::move(first), std::move(last)});
  return oldest_ + pending_.size() - 1;
}

Redeemed Tickets::redeem(Ticket ticket, Timing& timing, cl_int& failure) {
  if (ticket < oldest_ || ticket - oldest_ >= pending_.size()) return Redeemed::Lost;
  const Redeemed redeemed = look(pending_[ticket - oldest_], timing, failure);
  if (redeemed == Redeemed::Pending) return redeemed;
  // Usually in order; a ticket that was skipped is dropped together with those before it.
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(ticket - oldest_ + 1));
  oldest_ = ticket + 1;
  return redeemed;
}

Redeemed Tickets::look(const Pending& pending, Timing& timing, cl_int& failure) const {
  const Api& cl = context_.cl;
  const cl_event first = pending.first.get(), last = pending.last ? pending.last.get() : first;
  cl_int status = CL_COMPLETE;
  const cl_int code = cl.clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  if (code != CL_SUCCESS || status < CL_COMPLETE) {
    failure = code != CL_SUCCESS ? code : status;
    return Redeemed::Lost;
  }
  if (status > CL_COMPLETE) return Redeemed::Pending;
  cl_ulong start = 0, end = 0;
  if (cl.clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) != CL_SUCCESS ||
      cl.clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) != CL_SUCCESS)
    return Redeemed::Lost;
  timing = {start, end};
  return Redeemed::Done;
}

}  // namespace kymo::device::opencl
