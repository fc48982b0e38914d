#include "device/opencl/tickets.h"

namespace kymo::device::opencl {

namespace {

// A driver may run a larger launch in several parts. Then the first group of each part would store its start.
bool is_one_grid(const Launch& launch) {
  constexpr uint64_t kMaxGroupsX = (uint64_t{1} << 31) - 1, kMaxGroupsYZ = 65535;
  const Extent &threads = launch.threads, &group = launch.group;
  return threads.x / group.x < kMaxGroupsX && threads.y / group.y < kMaxGroupsYZ && threads.z / group.z < kMaxGroupsYZ;
}

}  // namespace

Ticket Tickets::give(Event first, Event last) {
  pending_.push_back({std::move(first), std::move(last), false});
  return oldest_ + pending_.size() - 1;
}

std::optional<Stamp> Tickets::take_stamp(const Launch& launch) {
  return is_one_grid(launch) ? stamps_.take(warps_of(launch)) : std::nullopt;
}

Ticket Tickets::give_stamped(const Launch& launch, Event end) {
  stamps_.launched(warps_of(launch));
  pending_.push_back({std::move(end), {}, true});
  return oldest_ + pending_.size() - 1;
}

Redeemed Tickets::redeem(Ticket ticket, Timing& timing, cl_int& failure) {
  if (ticket != oldest_ || pending_.empty()) return Redeemed::Lost;
  const Pending& pending = pending_.front();
  const Redeemed redeemed = pending.stamped ? look_at_stamp(pending, timing, failure) : look(pending, timing, failure);
  if (redeemed == Redeemed::Pending) return redeemed;
  if (redeemed == Redeemed::Done) order_.apply(timing);
  pending_.pop_front();
  ++oldest_;
  return redeemed;
}

Redeemed Tickets::look_at_stamp(const Pending& pending, Timing& timing, cl_int& failure) {
  const Redeemed redeemed = stamps_.redeem(timing);
  if (redeemed == Redeemed::Lost && stamp_driver_.failure() < CL_COMPLETE) failure = stamp_driver_.failure();
  if (redeemed != Redeemed::Done || timing.end != 0) return redeemed;
  Timing by_event;
  const Redeemed end = look(pending, by_event, failure);
  timing.end = by_event.end;
  return end == Redeemed::Pending ? Redeemed::Lost : end;  // the kernel has run
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
