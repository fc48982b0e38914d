// An in-order queue.
//
// It starts without profiling, which slows down every operation on some drivers. At the first operation that is timed
// by an event it is replaced by a queue with profiling. Work on the new queue waits, on the device, for the work that
// was queued before.
#pragma once

#include "device/opencl/context.h"
#include "device/opencl/staging.h"
#include "device/opencl/tickets.h"
#include "device/pieces.h"

namespace kymo::device::opencl {

class KernelPool;

class OpenClQueue final : public Queue {
 public:
  OpenClQueue(Context& context, TimerCheck& timer);
  ~OpenClQueue() override;

  void launch(const Launch& launch, Ticket* ticket) override;
  void fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) override;
  void copy(Address from, Address to, size_t bytes, Ticket* ticket) override;
  void upload(const void* from, Address to, size_t bytes, Ticket* ticket) override;
  void download(Address from, void* to, size_t bytes, Ticket* ticket) override;
  void record(Marker& marker) override;
  void wait(Marker& marker) override;
  void flush() override;
  void synchronize() override;
  Redeemed redeem(Ticket ticket, Timing& timing) override;

 private:
  void start_profiling();
  void launch_pieces(const Launch& launch, KernelPool& pool, std::span<const Piece> pieces, Ticket* ticket);
  cl_int enqueue(cl_kernel kernel, const Piece& piece, cl_event* event);
  void memcpy_command(void* to, const void* from, size_t bytes, bool blocking, Ticket* ticket);
  void give_ticket_of_nothing(Ticket* ticket);
  Event owned(cl_event event) const { return {event, context_.cl.clReleaseEvent}; }

  Context& context_;
  const Api& cl_;
  CommandQueue queue_;
  bool profiling_ = false;
  cl_int failure_ = CL_SUCCESS;  // error of a command that failed after it was enqueued; for the next synchronize()
  Tickets tickets_;
  Staging staging_;
};

}  // namespace kymo::device::opencl
