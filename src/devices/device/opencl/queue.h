// An in-order queue.
//
// It starts without profiling, which slows down every operation on some drivers. At the first operation that is timed
// by an event it is replaced by a queue with profiling. Work on the new queue waits, on the device, for the work that
// was queued before.
#pragma once

#include <deque>
#include <vector>

#include "device/opencl/clock.h"
#include "device/opencl/context.h"
#include "device/pieces.h"
#include "device/stamps/stamps.h"

namespace kymo::device::opencl {

class KernelPool;

// Stamps on one queue of OpenCL. The copies run in a queue of their own.
class OpenClStampDriver final : public StampDriver {
 public:
  // `queue` may be replaced by another queue, if work on the new one waits for the work on the old one.
  OpenClStampDriver(Context& context, TimerCheck& timer, const CommandQueue& queue)
      : context_(context), timer_(timer), queue_(queue) {}
  ~OpenClStampDriver() override;
  OpenClStampDriver(const OpenClStampDriver&) = delete;
  OpenClStampDriver& operator=(const OpenClStampDriver&) = delete;

  std::optional<int64_t> timer_offset() override;
  std::optional<StampBlock> allocate(size_t bytes) override;
  void fence() override;
  void copy(const StampBlock& block, size_t offset, size_t bytes) override;
  void end_copies() override;
  StampProgress look() override;
  void wait() override;

  cl_int failure() const { return failure_; }  // after look() returned Failed: the error

 private:
  Event marker_in(const CommandQueue& queue) const;

  Context& context_;
  TimerCheck& timer_;
  const CommandQueue& queue_;
  CommandQueue reader_;  // made when it is needed first
  Event event_;          // of the last fence, or after the last copy
  cl_int failure_ = CL_SUCCESS;
  std::vector<StampBlock> blocks_;
};

// Timed operations of one queue, until their time on the device is known. Used by one thread at a time.
//
// Kernels that can stamp report their times themselves (stamps.h). All others, and copies and fills, have the profiling
// times of their events, which cost much more on NVIDIA's driver.
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

// A point in a queue, as an OpenCL event.
class OpenClMarker final : public Marker {
 public:
  OpenClMarker(const Context& context, bool timing) : context_(context), timing_(timing) {}

  bool reached() override;
  void synchronize() override;
  std::optional<uint64_t> time() override;

  bool timing() const { return timing_; }
  cl_event event() const { return event_.get(); }  // null: never recorded
  void put(Event event, cl_command_queue queue);
  // An event of a queue that is not flushed may never happen: code that waits on another queue must flush first. Once
  // per record.
  void flush();
  bool is_in(cl_command_queue queue) const { return queue_.get() == queue; }

 private:
  const Context& context_;
  const bool timing_;
  bool flushed_ = true;
  Event event_;
  CommandQueue queue_;  // the queue in which it was recorded
};

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
  cl_int enqueue(KernelPool& pool, cl_kernel kernel, const Piece& piece, cl_event* event);
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
