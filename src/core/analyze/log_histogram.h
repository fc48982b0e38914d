// Counts values in buckets that grow with the value. A bucket is at most 1/128 as wide as its values. So its middle is
// within 1/256 (0.4 %) of each value in it, from 1 to 2^64.
//
// Each value below 128 has its own bucket. Above that, a bucket is a power of two and the seven bits after the leading
// one. Adding a value is a count of leading zeros, a shift and an increment. Uses 58 KiB.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace kymo::analyze {

class LogHistogram {
 public:
  static constexpr double kRelativeError = 1.0 / 256;

  LogHistogram() : counts_(kBuckets) {}

  void add(uint64_t value) noexcept { ++counts_[bucket_of(value)]; }

  // The bucket of a value. A larger value never has a smaller bucket.
  static uint32_t bucket_of(uint64_t value) noexcept {
    if (value < kSubBuckets) return static_cast<uint32_t>(value);
    const uint32_t shift = 63 - kSubBits - static_cast<uint32_t>(std::countl_zero(value));
    // The leading one is still there after the shift, and increments the octave.
    return (shift << kSubBits) + static_cast<uint32_t>(value >> shift);
  }

  // The bucket that holds the value of this rank (zero-based, less than the number of values), and how many values are
  // in the buckets before it.
  struct Location {
    uint32_t bucket;
    uint64_t before;
  };
  Location locate(uint64_t rank) const noexcept {
    uint64_t before = 0;
    uint32_t bucket = 0;
    while (before + counts_[bucket] <= rank) before += counts_[bucket++];
    return {bucket, before};
  }

  // Calls visit(middle of the bucket, count) for each bucket that is not empty, ascending.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
      if (counts_[bucket] != 0) visit(middle_of(bucket), counts_[bucket]);
    }
  }

 private:
  static constexpr uint32_t kSubBits = 7;
  static constexpr uint32_t kSubBuckets = 1 << kSubBits;
  static constexpr uint32_t kBuckets = (64 - kSubBits + 1) * kSubBuckets;

  static double middle_of(uint32_t bucket) noexcept {
    if (bucket < kSubBuckets) return bucket;
    const uint32_t shift = (bucket >> kSubBits) - 1;
    const uint64_t lowest = uint64_t{kSubBuckets | (bucket & (kSubBuckets - 1))} << shift;
    return static_cast<double>(lowest) + static_cast<double>((uint64_t{1} << shift) - 1) / 2;
  }

  std::vector<uint64_t> counts_;
};

}  // namespace kymo::analyze
