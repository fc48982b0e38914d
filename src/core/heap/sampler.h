// Selects the allocations to record in sampling mode. Each byte has the same chance, so large allocations are nearly
// always selected, and small ones in proportion. Each record says how many bytes it represents.
#pragma once

#include <cstdint>

namespace kymo::heap {

// For one thread.
class Sampler {
 public:
  explicit Sampler(uint64_t seed = 1) noexcept : state_(seed | 1) {}

  // True if this allocation must be recorded. `mean` is the mean number of bytes between two samples. Usually costs one
  // subtraction.
  bool takes(uint64_t bytes, uint64_t mean) noexcept {
    const int64_t step = bytes < kMaxBytes ? static_cast<int64_t>(bytes) : int64_t{kMaxBytes};
    left_ -= step;
    return __builtin_expect(left_ < 0, 0) && begin_next(step, mean);
  }

 private:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

  bool begin_next(int64_t step, uint64_t mean) noexcept;
  int64_t draw(uint64_t mean) noexcept;

  uint64_t state_;
  int64_t left_ = 0;      // bytes until the next sample
  bool started_ = false;  // the first distance has been drawn
};

// How many bytes a sampled allocation of `bytes` represents: its size divided by its chance to be sampled.
uint64_t sample_weight(uint64_t bytes, uint64_t mean) noexcept;

}  // namespace kymo::heap
