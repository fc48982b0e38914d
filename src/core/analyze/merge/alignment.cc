#include "analyze/merge/alignment.h"

#include <algorithm>
#include <cmath>

#include "base/quantile.h"

namespace kymo::analyze {
namespace {

constexpr size_t kFewestForDrift = 8;
constexpr size_t kMostMoments = 20'000;

// Every n-th, so that the cost is bounded.
void thin_out(std::vector<SharedMoment>& moments) {
  if (moments.size() <= kMostMoments) return;
  const size_t step = moments.size() / kMostMoments + 1;
  size_t kept = 0;
  for (size_t i = 0; i < moments.size(); i += step) moments[kept++] = moments[i];
  moments.resize(kept);
}

double slope_of(const std::vector<SharedMoment>& moments) {
  if (moments.size() < kFewestForDrift) return 0;
  std::vector<double> slopes;
  const size_t half = moments.size() / 2;
  for (size_t i = 0; i + half < moments.size(); ++i) {
    const SharedMoment &a = moments[i], &b = moments[i + half];
    const auto distance = static_cast<double>(b.other - a.other);
    if (distance <= 0) continue;
    slopes.push_back((static_cast<double>(b.reference - a.reference) - distance) / distance);
  }
  return slopes.empty() ? 0 : base::median(std::move(slopes));
}

// The median distance of the differences from their median.
double spread(const std::vector<double>& differences) {
  const double middle = base::median(differences);
  std::vector<double> distances;
  for (const double one : differences) distances.push_back(std::abs(one - middle));
  return base::median(std::move(distances));
}

}  // namespace

int64_t Alignment::to_reference(int64_t time) const {
  return time + offset_ns + std::llround(drift * static_cast<double>(time - origin));
}

Alignment align(std::vector<SharedMoment> moments) {
  Alignment result;
  result.moments = moments.size();
  if (moments.empty()) return result;
  thin_out(moments);
  std::sort(moments.begin(), moments.end(),
            [](const SharedMoment& a, const SharedMoment& b) { return a.other < b.other; });
  result.origin = moments[moments.size() / 2].other;
  const auto residuals = [&](double drift) {
    std::vector<double> all;
    for (const SharedMoment& one : moments)
      all.push_back(static_cast<double>(one.reference - one.other) -
                    drift * static_cast<double>(one.other - result.origin));
    return all;
  };
  const double slope = slope_of(moments);
  // A drift counts only if the moments are closer to a line than to a constant.
  std::vector<double> with = residuals(slope), without = residuals(0);
  const bool drifts = slope != 0 && spread(with) < 0.9 * spread(without);
  std::vector<double>& best = drifts ? with : without;
  result.drift = drifts ? slope : 0;
  const double offset = base::median(best);
  result.offset_ns = std::llround(offset);
  for (double& one : best) one = std::abs(one - offset);
  std::sort(best.begin(), best.end());
  const size_t rank =
      std::min(best.size() - 1, static_cast<size_t>(std::ceil(0.95 * static_cast<double>(best.size()))) - 1);
  result.error_ns = static_cast<uint64_t>(std::llround(std::ceil(best[rank]))) + 1;
  return result;
}

std::vector<SharedMoment> matched(std::span<const int64_t> reference, std::span<const int64_t> other,
                                  size_t most_missing) {
  const auto pairs = [&](std::ptrdiff_t shift) {
    std::vector<SharedMoment> all;
    for (size_t i = 0; i < other.size(); ++i) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + shift;
      if (at >= 0 && static_cast<size_t>(at) < reference.size())
        all.push_back({reference[static_cast<size_t>(at)], other[i]});
    }
    return all;
  };
  const auto limit = static_cast<std::ptrdiff_t>(most_missing);
  const size_t fewest = std::max<size_t>(1, std::min(reference.size(), other.size()) / 2);
  std::vector<SharedMoment> best;
  double best_spread = 0, best_distance = 0;
  for (std::ptrdiff_t shift = -limit; shift <= limit; ++shift) {
    std::vector<SharedMoment> all = pairs(shift);
    if (all.size() < fewest) continue;
    std::vector<double> differences;
    for (const SharedMoment& one : all) differences.push_back(static_cast<double>(one.reference - one.other));
    const double wide = spread(differences), distance = std::abs(base::median(differences));
    // Events at equal distances match in several ways. Then the clocks that are closest decide.
    const bool is_better =
        best.empty() || wide < 0.5 * best_spread || (wide < 2 * best_spread + 1000 && distance < best_distance);
    if (!is_better) continue;
    best = std::move(all);
    best_spread = wide;
    best_distance = distance;
  }
  return best;
}

}  // namespace kymo::analyze
