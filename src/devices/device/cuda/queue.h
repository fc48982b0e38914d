// One stream of the driver. It does not wait for the legacy default stream.
#pragma once

#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"
#include "device/cuda/fill.h"
#include "device/cuda/tickets.h"
#include "device/pieces.h"

namespace kymo::device::cuda {

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
