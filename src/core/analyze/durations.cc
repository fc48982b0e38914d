#include "analyze/durations.h"

#include <algorithm>
#include <utility>

#include "base/quantile.h"

namespace kymo::analyze {

namespace {

constexpr size_t kFirstRoom = 64;

// The same as base::quantile without a copy of all values: a histogram finds the bucket of the value, so that only a
// few values must be sorted.
double quantile_by_buckets(std::span<const uint64_t> values, const LogHistogram& histogram, double share) {
  const auto [index, part] = base::quantile_place(values.size(), share);
  std::vector<uint64_t> candidates;
  const auto collect = [&](uint32_t bucket) {
    candidates.clear();
    for (const uint64_t value : values) {
      if (LogHistogram::bucket_of(value) == bucket) candidates.push_back(value);
    }
  };
  const auto [bucket, before] = histogram.locate(index);
  collect(bucket);
  auto at = candidates.begin() + static_cast<ptrdiff_t>(index - before);
  std::nth_element(candidates.begin(), at, candidates.end());
  const auto low = static_cast<double>(*at);
  if (part == 0) return low;
  if (++at == candidates.end()) {  // the next value is in another bucket
    collect(histogram.locate(index + 1).bucket);
    at = candidates.begin();
  }
  return low + part * (static_cast<double>(*std::min_element(at, candidates.end())) - low);
}

Quantiles exact_quantiles(std::span<const uint64_t> ticks, double ns_per_tick) {
  if (ticks.empty()) return {};
  LogHistogram histogram;
  for (const uint64_t value : ticks) histogram.add(value);
  return {quantile_by_buckets(ticks, histogram, 0.5) * ns_per_tick,
          quantile_by_buckets(ticks, histogram, 0.99) * ns_per_tick, false};
}

// Buckets of different clocks do not line up. So they are not added up, but sorted by their values in nanoseconds.
Quantiles histogram_quantiles(std::span<const ScaledDurations> sets) {
  std::vector<std::pair<double, uint64_t>> buckets;
  uint64_t count = 0;
  for (const ScaledDurations& set : sets) {
    set.durations->histogram().for_each([&](double ticks, uint64_t in_bucket) {
      buckets.emplace_back(ticks * set.ns_per_tick, in_bucket);
      count += in_bucket;
    });
  }
  if (count == 0) return {};
  std::sort(buckets.begin(), buckets.end());
  const auto value_at = [&](uint64_t rank) {
    uint64_t before = 0;
    for (const auto& [value, in_bucket] : buckets) {
      before += in_bucket;
      if (before > rank) return value;
    }
    return buckets.back().first;
  };
  return {value_at(LogHistogram::nearest_rank(count, 50)), value_at(LogHistogram::nearest_rank(count, 99)), true};
}

}  // namespace

void ExactBudget::take(uint64_t more) {
  kept_ += more;
  if (kept_ <= in_total_) return;
  std::vector<Durations*> largest_first = sets_;
  std::sort(largest_first.begin(), largest_first.end(),
            [](const Durations* a, const Durations* b) { return a->room() > b->room(); });
  for (Durations* set : largest_first) {
    if (kept_ <= in_total_ / 2 || set->room() < kWorthConverting) break;
    set->histogram();
  }
  // No set is worth converting. Let the small sets grow before the next check.
  if (kept_ > in_total_) in_total_ = 2 * kept_;
}

void Durations::add_slowly(uint64_t ticks) {
  if (used_ >= budget_.per_set()) {
    histogram();
  } else {
    const uint64_t more = std::min<uint64_t>(std::max(kFirstRoom, used_), budget_.per_set() - used_);
    budget_.take(more);
    if (histogram_ == nullptr) {
      exact_.resize(used_ + more);
      exact_[used_++] = ticks;
      return;
    }
    budget_.give_back(more);  // take() converted this set to make room
  }
  histogram_->add(ticks);
}

const LogHistogram& Durations::histogram() {
  if (histogram_ == nullptr) {
    histogram_ = std::make_unique<LogHistogram>();
    for (const uint64_t ticks : exact()) histogram_->add(ticks);
    budget_.give_back(exact_.size());
    exact_ = {};
    used_ = 0;
  }
  return *histogram_;
}

Quantiles quantiles(std::span<const ScaledDurations> sets) {
  const bool all_exact =
      std::all_of(sets.begin(), sets.end(), [](const auto& set) { return set.durations->is_exact(); });
  if (!all_exact) return histogram_quantiles(sets);
  if (sets.size() == 1) return exact_quantiles(sets[0].durations->exact(), sets[0].ns_per_tick);

  std::vector<double> together;
  for (const ScaledDurations& set : sets) {
    for (const uint64_t ticks : set.durations->exact())
      together.push_back(static_cast<double>(ticks) * set.ns_per_tick);
  }
  return {base::quantile(together, 0.5), base::quantile(together, 0.99), false};
}

}  // namespace kymo::analyze
