#include "analyze/views/log_buckets.h"

#include <algorithm>
#include <cmath>

namespace kymo::views {
namespace {

// The limits within a power of ten, in thousandths.
std::vector<uint64_t> limits_in_decade(unsigned parts) {
  switch (parts) {
    case 1:
      return {1000};
    case 2:
      return {1000, 3000};
    case 3:
      return {1000, 2000, 5000};
    case 6:
      return {1000, 1500, 2000, 3000, 5000, 7000};
    default:
      std::vector<uint64_t> limits;
      for (unsigned i = 0; i < parts; ++i)
        limits.push_back(static_cast<uint64_t>(std::llround(std::pow(10, static_cast<double>(i) / parts) * 100)) * 10);
      return limits;
  }
}

// The limits of all buckets from 0 to beyond the longest duration. Below 1 µs some limits would be equal.
std::vector<uint64_t> limits_with(unsigned parts) {
  constexpr uint64_t kLastDecade = 10'000'000'000'000'000'000u;
  std::vector<uint64_t> limits = {0};
  const std::vector<uint64_t> in_decade = limits_in_decade(parts);
  for (uint64_t decade = 1;; decade *= 10) {
    for (const uint64_t limit : in_decade) {
      if (decade == kLastDecade && limit > 1000) break;  // beyond 64 bits
      const uint64_t ns = decade >= 1000 ? decade / 1000 * limit : decade * limit / 1000;
      if (ns > limits.back()) limits.push_back(ns);
    }
    if (decade == kLastDecade) break;
  }
  limits.push_back(UINT64_MAX);
  return limits;
}

}  // namespace

std::vector<DurationBucket> make_log_buckets(uint64_t min_ns, uint64_t max_ns, size_t most) {
  std::vector<DurationBucket> best;
  for (const unsigned parts : {1u, 2u, 3u, 6u, 12u, 24u, 48u, 96u}) {
    const std::vector<uint64_t> limits = limits_with(parts);
    const auto first = std::upper_bound(limits.begin(), limits.end() - 1, min_ns) - 1;
    const auto last = std::upper_bound(first, limits.end() - 1, max_ns) - 1;
    const auto count = static_cast<size_t>(last - first) + 1;
    if (!best.empty() && count > most) break;
    best.clear();
    for (auto at = first; at <= last; ++at) best.push_back({*at, *(at + 1), 0});
  }
  return best;
}

void add_to_buckets(std::vector<DurationBucket>& buckets, uint64_t ns, uint64_t count) {
  const auto after =
      std::upper_bound(buckets.begin(), buckets.end(), ns,
                       [](uint64_t value, const DurationBucket& bucket) { return value < bucket.from_ns; });
  (after == buckets.begin() ? *after : *(after - 1)).count += count;
}

}  // namespace kymo::views
