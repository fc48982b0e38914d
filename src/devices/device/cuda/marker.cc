#include "device/cuda/marker.h"

namespace kymo::device::cuda {

CudaMarker::CudaMarker(const Context& context, EventClock& clock, bool timing)
    : context_(context), clock_(clock), timing_(timing) {
  const Current current(context_);
  check(context_.api, context_.api.event_create(&event_, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
        "cuEventCreate");
}

CudaMarker::~CudaMarker() {
  // The driver destroys a pending event when it has happened.
  while_current(context_, [this] { context_.api.event_destroy(event_); });
}

bool CudaMarker::reached() {
  if (!recorded_) return true;
  const Current current(context_);
  const CUresult result = context_.api.event_query(event_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(context_.api, result, "cuEventQuery");
  return true;
}

void CudaMarker::synchronize() {
  if (!recorded_) return;
  const Current current(context_);
  check(context_.api, context_.api.event_synchronize(event_), "cuEventSynchronize");
}

std::optional<uint64_t> CudaMarker::time() {
  if (!timing_ || !recorded_ || !reached()) return {};
  const Current current(context_);
  return clock_.ticks_of(event_);
}

void CudaMarker::record(CUstream stream) {
  if (timing_) clock_.tend();
  check(context_.api, context_.api.event_record(event_, stream), "cuEventRecord");
  recorded_ = true;
}

}  // namespace kymo::device::cuda
