// A point in a stream: one CUevent.
#pragma once

#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/event_clock.h"

namespace kymo::device::cuda {

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

}  // namespace kymo::device::cuda
