// Copies between tensors that are not both contiguous, with one of the runtime's own kernels.
#pragma once

#include "kymo/tensor.h"

namespace kymo::device {

// Same shape, dtype and device; neither is empty. Queued on the current stream of this thread.
void strided_copy(const Tensor& from, const Tensor& to);

}  // namespace kymo::device
