// Random numbers on the device: Philox4x32-10, counted in blocks of four 32-bit words. The same seed gives the same
// numbers, bit by bit, on every backend and on the host. A fill of N elements uses ceil(N/4) blocks, or ceil(N/2) for
// 8-byte integers. Any thread may call these functions: fills take their blocks one after the other.
#pragma once

#include <cstdint>

#include "kymo/tensor.h"

namespace kymo::device {

// Each function fills a contiguous tensor from the generator of its device, on this thread's current stream.
KYMO_API void uniform(Tensor& out, double from = 0, double to = 1);        // [from, to); f32, f16, bf16
KYMO_API void normal(Tensor& out, double mean = 0, double deviation = 1);  // f32, f16, bf16
KYMO_API void randint(Tensor& out, int64_t low, int64_t high);             // low to high-1; integers and f32
KYMO_API void bernoulli(Tensor& out, double probability = 0.5);            // 1 or 0; f32, u8, bool, …

}  // namespace kymo::device
