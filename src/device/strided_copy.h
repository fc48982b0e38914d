// Copies between tensors of which at least one has gaps, by a kernel of the runtime's own.
#pragma once

#include "kymo/tensor.h"

namespace kymo::device {

// Same shape, dtype and device, neither empty. Queued on this thread's current stream.
void strided_copy(const Tensor& from, const Tensor& to);

}  // namespace kymo::device
