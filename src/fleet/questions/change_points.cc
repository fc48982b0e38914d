#include "questions/change_points.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>

#include "base/quantile.h"

namespace kymo::fleet {
namespace {

// The usual distance of a value from its level, as the standard deviation of normal noise.
double noise_of(std::span<const double> values) {
  constexpr double kOfNeighbours = 0.9539;  // the median distance of two normal values with a deviation of 1
  std::vector<double> steps;
  for (size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  return steps.empty() ? 0 : base::median(steps) / kOfNeighbours;
}

// The values in units of the noise, from their mean, so that their sum is 0.
std::vector<double> scores_of(std::span<const double> values) {
  const double middle = base::median(std::vector(values.begin(), values.end())), noise = noise_of(values);
  std::vector<double> scores;
  double sum = 0;
  for (const double value : values) {
    const double distance = value - middle;
    const double score = noise > 0       ? std::clamp(distance / noise, -kMostNoise, kMostNoise)
                         : distance == 0 ? 0
                                         : std::copysign(kMostNoise, distance);
    scores.push_back(score);
    sum += score;
  }
  for (double& score : scores) score -= sum / static_cast<double>(scores.size());
  return scores;
}

struct Change {
  size_t at = 0;       // how many values are before it; 0: none
  double clarity = 0;  // the distance of the means of both sides, in units of what chance does
};

Change clearest_change(std::span<const double> scores) {
  const size_t n = scores.size();
  Change found;
  double sum = 0;
  for (size_t before = 1; before + kFewestAround <= n; ++before) {
    sum += scores[before - 1];
    if (before < kFewestAround) continue;
    // The standard deviation of the sum is this, times what all places and all orders have in common.
    const double clarity = std::abs(sum) / std::sqrt(static_cast<double>(before) * static_cast<double>(n - before));
    if (clarity > found.clarity) found = {before, clarity};
  }
  return found;
}

// Where a part ends that is between two others of another level: on its two sides the sum is smallest and largest.
Change clearest_episode(std::span<const double> scores) {
  double sum = 0, smallest = 0, largest = 0;
  size_t low = 0, high = 0;
  for (size_t before = 1; before < scores.size(); ++before) {
    sum += scores[before - 1];
    if (sum < smallest) std::tie(smallest, low) = std::tie(sum, before);
    if (sum > largest) std::tie(largest, high) = std::tie(sum, before);
  }
  return {std::max(low, high), largest - smallest};
}

// The share of random orders of the scores in which `clarity_of` is as large as in this one. If it is more than
// `certain`, its value does not matter, and it is found sooner.
template <typename ClarityOf>
double probability(std::vector<double> scores, double certain, ClarityOf&& clarity_of) {
  constexpr double kRounding = 1e-9;  // the order of a sum
  constexpr size_t kManyValues = 200, kOrders = 4'000, kOrdersOfMany = 2'000;
  const double here = clarity_of(scores) * (1 - kRounding);
  if (here <= 0) return 1;
  const size_t orders = scores.size() > kManyValues ? kOrdersOfMany : kOrders;
  std::mt19937_64 random(scores.size());
  size_t as_clear = 1;  // this one
  for (size_t order = 1; order < orders; ++order) {
    for (size_t i = scores.size() - 1; i > 0; --i) std::swap(scores[i], scores[random() % (i + 1)]);
    if (clarity_of(scores) < here) continue;
    if (static_cast<double>(++as_clear) > certain * static_cast<double>(orders)) return 1;
  }
  return static_cast<double>(as_clear) / static_cast<double>(orders);
}

double probability_of_change(const std::vector<double>& scores) {
  return probability(scores, kCertain, [](std::span<const double> order) { return clearest_change(order).clarity; });
}

// A slow value among few others may look like a change of the level. The shift does not.
bool is_shift(std::span<const double> before, std::span<const double> after) {
  const analyze::Comparison change = analyze::compare(before, after);
  return change.low > 0 || change.high < 0;
}

// Adds the change points of values[from, to) to `found`.
void search(std::span<const double> values, size_t from, size_t to, std::vector<ChangePoint>& found) {
  const size_t n = to - from;
  if (n < kFewestValues) return;
  const auto part = values.subspan(from, n);
  const std::vector<double> scores = scores_of(part);
  const auto add = [&](size_t at, double p) {
    ChangePoint& point = found.emplace_back();
    point.at = from + at;
    point.p = p;
  };
  const size_t at = clearest_change(scores).at;
  if (const double p = probability_of_change(scores); p <= kCertain && is_shift(part.first(at), part.subspan(at))) {
    search(values, from, from + at, found);
    add(at, p);
    search(values, from + at, to, found);
    return;
  }
  const double p = probability(scores, kCertainEpisode,
                               [](std::span<const double> order) { return clearest_episode(order).clarity; });
  if (p > kCertainEpisode) return;
  // With the other side left out, each side is where the level changes.
  const size_t begin = clearest_change(scores_of(part.first(clearest_episode(scores).at))).at;
  const size_t length = clearest_change(scores_of(part.subspan(begin))).at;
  if (begin == 0 || length == 0) return;
  search(values, from, from + begin, found);
  add(begin, p);
  search(values, from + begin, from + begin + length, found);
  add(begin + length, p);
  search(values, from + begin + length, to, found);
}

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const double> values) {
  std::vector<ChangePoint> points;
  search(values, 0, values.size(), points);
  for (size_t i = 0; i < points.size(); ++i) {
    ChangePoint& point = points[i];
    const size_t from = i == 0 ? 0 : points[i - 1].at, to = i + 1 < points.size() ? points[i + 1].at : values.size();
    const auto middle = [&](size_t begin, size_t end) {
      return base::median(std::vector(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                      values.begin() + static_cast<std::ptrdiff_t>(end)));
    };
    // The test finds the place up to a few values. The change is at the first one of those around it that are nearer to
    // the new level than to the old one.
    const double old_level = middle(from, point.at), new_level = middle(point.at, to);
    const auto is_new = [&](size_t place) {
      return std::abs(values[place] - new_level) < std::abs(values[place] - old_level);
    };
    while (point.at + 1 < to && !is_new(point.at)) ++point.at;
    while (point.at > from + 1 && is_new(point.at - 1)) --point.at;
    const auto before = values.subspan(from, point.at - from), after = values.subspan(point.at, to - point.at);
    point.change = analyze::compare(before, after);
    point.median_before = middle(from, point.at);
    point.median_after = middle(point.at, to);
  }
  return points;
}

std::optional<VisibleChange> smallest_visible_change(std::span<const double> values) {
  constexpr int kDoublings = 40, kHalvings = 7;
  if (values.size() < kFewestValues) return std::nullopt;
  const size_t last = std::max(kFewestAround, values.size() / 4);
  const auto middle_of = [](std::span<const double> some) {
    return base::median(std::vector(some.begin(), some.end()));
  };
  // What chance made of the last values is neither a part of the change nor hides it.
  const double by_chance = middle_of(values.last(last)) - middle_of(values.first(values.size() - last));
  const auto is_visible = [&](double shift) {
    std::vector<double> changed(values.begin(), values.end());
    for (size_t i = changed.size() - last; i < changed.size(); ++i) changed[i] += shift - by_chance;
    return probability_of_change(scores_of(changed)) <= kCertain;
  };
  const double middle = middle_of(values);
  double low = 0, high = std::max(noise_of(values) / 8, std::abs(middle) / 1e6);
  for (int i = 0; i < kDoublings && !is_visible(high); ++i) {
    if (high > 100 * std::abs(middle)) return std::nullopt;
    low = std::exchange(high, 2 * high);
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double between = (low + high) / 2;
    (is_visible(between) ? high : low) = between;
  }
  return VisibleChange{last, high};
}

}  // namespace kymo::fleet
