// Which allocations are looked at when not all are: each byte with the same chance, so that large ones nearly always
// are and small ones in their right share. What is recorded says for how many bytes it stands.
#pragma once

#include <cstdint>

namespace kymo::heap {

// One thread's.
class Sampler {
 public:
  explicit Sampler(uint64_t seed = 1) noexcept : state_(seed | 1) {}

  // Is this one to be recorded? `mean` bytes lie between two samples on average. A subtraction in most cases.
  bool takes(uint64_t bytes, uint64_t mean) noexcept {
    const int64_t step = bytes < kMostBytes ? static_cast<int64_t>(bytes) : int64_t{kMostBytes};
    left_ -= step;
    return __builtin_expect(left_ < 0, 0) && begin_next(step, mean);
  }

 private:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 40;

  bool begin_next(int64_t step, uint64_t mean) noexcept;
  int64_t draw(uint64_t mean) noexcept;

  uint64_t state_;
  int64_t left_ = 0;    // bytes until the next sample
  bool begun_ = false;  // the first distance was drawn
};

// How many bytes a sampled allocation of `bytes` stands for: its size by its chance to be sampled.
uint64_t sample_weight(uint64_t bytes, uint64_t mean) noexcept;

}  // namespace kymo::heap
