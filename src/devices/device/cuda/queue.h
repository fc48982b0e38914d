// One stream of the driver. It does not wait for the legacy default stream.
#pragma once

#include <mutex>
#include <vector>

#include "base/fifo.h"
#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"
#include "device/pieces.h"
#include "device/stamps/stamps.h"

namespace kymo::device::cuda {

// Fills device memory with patterns of 8 bytes. The driver has no function for that (its two-dimensional memset,
// one word at a time, takes 280 times as long). It uses a small kernel in PTX, assembled on first use.
class PatternFill {
 public:
  explicit PatternFill(const Context& context) : context_(context) {}

  // `count` patterns; `to` is aligned to 8 bytes. The context must be current. Throws DeviceError.
  void operator()(CUdeviceptr to, uint64_t pattern, uint64_t count, CUstream stream);

 private:
  void load();

  const Context& context_;
  std::once_flag loaded_;
  CUfunction fill_ = nullptr;
  unsigned groups_ = 0;  // number of groups that fill the device
};

// A point in a stream: one CUevent.
class CudaMarker final : public Marker {
 public:
  // Recording without timing costs a fifth of the time.
  CudaMarker(const Context& context, EventClock& clock, bool timing);
  ~CudaMarker() override;

  bool reached() override;
  void synchronize() override;
  std::optional<uint64_t> time() override;

  void record(CUstream stream);  // the context must be current
  CUevent event() const { return event_; }

 private:
  const Context& context_;
  EventClock& clock_;
  CUevent event_ = nullptr;
  const bool timing_;
  bool recorded_ = false;
};

// Stamps on one stream of CUDA. The copies run in a stream of their own. The context must be current in every call,
// except of the destructor.
class CudaStampDriver final : public StampDriver {
 public:
  CudaStampDriver(const Context& context, TimerOffset& timer, CUstream stream)
      : context_(context), timer_(timer), stream_(stream) {}
  ~CudaStampDriver() override;
  CudaStampDriver(const CudaStampDriver&) = delete;
  CudaStampDriver& operator=(const CudaStampDriver&) = delete;

  std::optional<int64_t> timer_offset() override;
  std::optional<StampBlock> allocate(size_t bytes) override;
  void fence() override;
  void copy(const StampBlock& block, size_t offset, size_t bytes) override;
  void end_copies() override;
  StampProgress look() override;
  void wait() override;

 private:
  bool open();

  const Context& context_;
  TimerOffset& timer_;
  const CUstream stream_;
  CUstream reader_ = nullptr;
  CUevent event_ = nullptr;  // of the last fence, or after the last copy
  std::vector<StampBlock> blocks_;
};

// Times the operations of one stream: kernels by their own stamps (stamps.h), with an event for the end of very large
// ones, everything else by a pair of events around it. The events are reused once they are redeemed.
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

class CudaQueue final : public Queue {
 public:
  // `pageable_lingers`: the device accesses pageable host memory directly (HMM, Grace), so a copy may return before the
  // memory was read or written.
  CudaQueue(const Context& context, EventClock& clock, TimerOffset& timer, PatternFill& fill, bool pageable_lingers);
  ~CudaQueue() override;

  void launch(const Launch& launch, Ticket* ticket) override;
  void fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) override;
  void copy(Address from, Address to, size_t bytes, Ticket* ticket) override;
  void upload(const void* from, Address to, size_t bytes, Ticket* ticket) override;
  void download(Address from, void* to, size_t bytes, Ticket* ticket) override;
  void record(Marker& marker) override;
  void wait(Marker& marker) override;
  void flush() override {}  // the driver submits each call at once
  uint64_t native_handle() const override { return reinterpret_cast<uint64_t>(stream_); }
  bool precede(uint64_t native_handle) override;
  bool follow(uint64_t native_handle) override;
  void synchronize() override;
  Redeemed redeem(Ticket ticket, Timing& timing) override;

 private:
  // `parameters` has space after the arguments for the parameters that the runtime adds.
  void launch_piece(const Launch& launch, const Piece& piece, const Stamp& stamp, unsigned dynamic_bytes,
                    void** parameters);
  void launch_all(const Launch& launch, Stamp stamp);
  void settle_pageable(const void* host);
  // `later` waits for what is in `earlier` now.
  void order(CUstream earlier, CUstream later);

  const Context& context_;
  PatternFill& pattern_fill_;
  const bool pageable_lingers_;
  const CUstream stream_;
  Tickets tickets_;
  CUevent order_event_ = nullptr;  // made when it is needed first
};

}  // namespace kymo::device::cuda
