#include "analyze/merge/alignment.h"

#include <algorithm>
#include <cmath>

#include "base/quantile.h"

namespace kymo::analyze {
namespace {

__extension__ typedef __int128 Wide;

constexpr size_t kFewestForDrift = 5;
constexpr size_t kMostMoments = 20'000;

int64_t limited(Wide value) { return static_cast<int64_t>(std::clamp<Wide>(value, INT64_MIN, INT64_MAX)); }

// Every n-th, so that the cost is bounded.
void thin_out(std::vector<SharedMoment>& moments) {
  if (moments.size() <= kMostMoments) return;
  const size_t step = moments.size() / kMostMoments + 1;
  size_t kept = 0;
  for (size_t i = 0; i < moments.size(); i += step) moments[kept++] = moments[i];
  moments.resize(kept);
}

double median_offset(std::span<const Difference> differences, double slope) {
  std::vector<double> offsets;
  offsets.reserve(differences.size());
  for (const Difference& one : differences) offsets.push_back(one.y - slope * one.x);
  return base::quantile(offsets, 0.5);
}

// How far the differences are from a line, sorted.
std::vector<double> distances(std::span<const Difference> differences, const Line& line) {
  std::vector<double> all;
  for (const Difference& one : differences) all.push_back(std::abs(one.y - line.at(one.x)));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

int64_t difference(int64_t a, int64_t b) { return limited(Wide{a} - b); }
int64_t sum(int64_t a, int64_t b) { return limited(Wide{a} + b); }

int64_t Alignment::offset_at(int64_t time) const {
  constexpr double kFar = 9e18;
  const double gained = drift * (static_cast<double>(time) - static_cast<double>(origin));
  return sum(offset_ns, std::llround(std::clamp(gained, -kFar, kFar)));
}

int64_t Alignment::to_reference(int64_t time) const { return sum(time, offset_at(time)); }

Alignment Alignment::then(const Alignment& next) const {
  Alignment both = *this;
  both.offset_ns = sum(offset_ns, next.offset_at(to_reference(origin)));
  both.drift = drift + next.drift;
  both.error_ns = error_ns + next.error_ns;
  return both;
}

Line fit_line(std::span<const Difference> by_x) {
  Line line;
  if (by_x.size() >= kFewestForDrift) {
    std::vector<double> slopes;
    const size_t half = by_x.size() / 2;
    slopes.reserve(by_x.size() - half);
    for (size_t i = 0; i + half < by_x.size(); ++i) {
      const Difference &a = by_x[i], &b = by_x[i + half];
      if (b.x > a.x) slopes.push_back((b.y - a.y) / (b.x - a.x));
    }
    line.slope = std::clamp(base::quantile(slopes, 0.5), -kMostDrift, kMostDrift);
  }
  line.offset = median_offset(by_x, line.slope);
  return line;
}

Alignment align(std::vector<SharedMoment> moments, int64_t first, int64_t last) {
  Alignment result;
  result.moments = moments.size();
  if (moments.empty()) return result;
  thin_out(moments);
  std::ranges::sort(moments, {}, &SharedMoment::other);
  const SharedMoment middle = moments[moments.size() / 2];
  const int64_t offset = difference(middle.reference, middle.other);
  std::vector<Difference> differences;
  for (const SharedMoment& one : moments)
    differences.push_back({static_cast<double>(difference(one.other, middle.other)),
                           static_cast<double>(difference(difference(one.reference, one.other), offset))});

  // A drift counts only if the moments are closer to a line than to a constant.
  Line line = fit_line(differences);
  const Line level{median_offset(differences, 0), 0};
  std::vector<double> far = distances(differences, line), far_from_level = distances(differences, level);
  const bool drifts = base::quantile_of_sorted(far, 0.5) < 0.9 * base::quantile_of_sorted(far_from_level, 0.5);
  if (!drifts) {
    line = level;
    far = std::move(far_from_level);
  }
  result.origin = middle.other;
  result.offset_ns = sum(offset, std::llround(std::clamp(line.offset, -9e18, 9e18)));
  result.drift = line.slope;

  const auto count = static_cast<double>(far.size());
  const double share = far[static_cast<size_t>(std::ceil(0.95 * count)) - 1];
  double error = share * (1 + 4 / count) + 1;  // few moments may all be wrong in the same way
  const double span = differences.back().x - differences.front().x;
  const double outside = std::max({static_cast<double>(difference(moments.front().other, first)),
                                   static_cast<double>(difference(last, moments.back().other)), 0.0});
  const double drift_error = (drifts ? 4 / std::sqrt(count) : 2) * error / std::max(span, 1.0);
  error += std::min(drift_error, kMostDrift) * outside;
  result.error_ns = static_cast<uint64_t>(std::min(std::ceil(error), 9e18));
  return result;
}

}  // namespace kymo::analyze
