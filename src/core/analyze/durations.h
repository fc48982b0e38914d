// The durations of one name, in ticks of one clock. All are kept; when they are too many, they become a histogram.
//
// All sets of one computation share an ExactBudget, which limits how many durations they keep together. add() is
// usually one store. For one thread.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kymo::analyze {

// Counts values in buckets that grow with the value. A bucket is at most 1/128 as wide as its values. So its middle is
// within 1/256 (0.4 %) of each value in it, from 1 to 2^64.
//
// Each value below 128 has its own bucket. Above that, a bucket is a power of two and the seven bits after the leading
// one. Adding a value is a count of leading zeros, a shift and an increment. Uses 58 KiB.
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

  // The rank of the smallest value such that at least this share of all values is less or equal. Zero-based; `count` is
  // not 0.
  static constexpr uint64_t nearest_rank(uint64_t count, uint64_t percent) {
    return (count / 100) * percent + ((count % 100) * percent + 99) / 100 - 1;
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

class Durations;

// How many durations may be kept exactly, per set and in total. At the total limit, the largest sets become histograms
// until half of it is free again.
class ExactBudget {
 public:
  ExactBudget(uint64_t per_set, uint64_t in_total) : per_set_(per_set), in_total_(in_total) {}

  uint64_t per_set() const { return per_set_; }
  void enlist(Durations& set) { sets_.push_back(&set); }
  // Called by a set before it makes space for `more` durations. May turn any set into a histogram, also the caller.
  void take(uint64_t more);
  void give_back(uint64_t kept) { kept_ -= kept; }

 private:
  // A histogram does not save memory for a set with fewer durations than this. Small sets stay exact, even if there are
  // very many.
  static constexpr uint64_t kWorthConverting = 1024;

  uint64_t per_set_, in_total_, kept_ = 0;
  std::vector<Durations*> sets_;
};

class Durations {
 public:
  explicit Durations(ExactBudget& budget) : budget_(budget) { budget.enlist(*this); }
  Durations(const Durations&) = delete;
  Durations& operator=(const Durations&) = delete;

  void add(uint64_t ticks) {
    if (histogram_) {
      histogram_->add(ticks);
    } else if (used_ < exact_.size()) {
      exact_[used_++] = ticks;
    } else {
      add_slowly(ticks);
    }
  }

  bool is_exact() const { return histogram_ == nullptr; }
  // All durations, as they were added. Empty when not exact.
  std::span<const uint64_t> exact() const { return std::span(exact_).first(used_); }
  // Turns the durations permanently into a histogram.
  const LogHistogram& histogram();
  uint64_t room() const { return exact_.size(); }

 private:
  void add_slowly(uint64_t ticks);

  ExactBudget& budget_;
  std::vector<uint64_t> exact_;  // its size is taken from the budget; the first used_ are durations
  size_t used_ = 0;
  std::unique_ptr<LogHistogram> histogram_;
};

struct Quantiles {
  double median_ns = 0, p99_ns = 0;
  bool approximate = false;
};

// A set of durations and the length of its ticks.
struct ScaledDurations {
  Durations* durations;
  double ns_per_tick;
};

// Quantiles over all sets together: exact as in base/quantile.h if all sets are exact; otherwise all of them become
// histograms, and the nearest rank is looked up. Takes linear time.
Quantiles quantiles(std::span<const ScaledDurations> sets);

}  // namespace kymo::analyze
