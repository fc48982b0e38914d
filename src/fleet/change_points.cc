#include "fleet/change_points.h"

#include <algorithm>
#include <cmath>

namespace kymo::fleet {
namespace {

int sign(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

// Adds the change points of values[from, to) to `found`.
void search(std::span<const double> values, size_t from, size_t to, std::vector<size_t>& found,
            std::vector<double>& p) {
  const size_t n = to - from;
  if (n < 2 * kFewestAround) return;
  // U(t): how often values up to t are larger than those after it, minus how often they are smaller.
  double u = 0, largest = 0;
  size_t at = 0;
  for (size_t t = from; t + kFewestAround < to; ++t) {
    for (size_t j = from; j < to; ++j) u += sign(values[t], values[j]);
    if (t + 1 - from >= kFewestAround && std::abs(u) > largest) {
      largest = std::abs(u);
      at = t + 1;
    }
  }
  const double size = static_cast<double>(n);
  const double probability = std::min(1.0, 2 * std::exp(-6 * largest * largest / (size * size * size + size * size)));
  if (at == 0 || probability > kCertain) return;
  search(values, from, at, found, p);
  found.push_back(at);
  p.push_back(probability);
  search(values, at, to, found, p);
}

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const double> values) {
  const size_t skipped = values.size() > kMostHistory ? values.size() - kMostHistory : 0;
  std::vector<size_t> places;
  std::vector<double> p;
  search(values, skipped, values.size(), places, p);
  std::vector<ChangePoint> points;
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t from = i == 0 ? skipped : places[i - 1], to = i + 1 < places.size() ? places[i + 1] : values.size();
    const auto before = values.subspan(from, places[i] - from), after = values.subspan(places[i], to - places[i]);
    ChangePoint& point = points.emplace_back();
    point.at = places[i];
    point.p = p[i];
    point.change = analyze::compare(before, after);
    point.median_before = analyze::median({before.begin(), before.end()});
    point.median_after = analyze::median({after.begin(), after.end()});
  }
  return points;
}

}  // namespace kymo::fleet
