#include "questions/change_points.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <tuple>

#include "base/quantile.h"

namespace kymo::fleet {
namespace {

int sign(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

constexpr size_t kMostExact = 18;  // 2 MB and a few milliseconds

// How often each value is larger than another one, minus how often it is smaller. Their sum over the first t values is
// Pettitt's U(t), because those of two values among them cancel out.
std::vector<double> balances(std::span<const double> values) {
  std::vector<double> all;
  for (const double value : values)
    all.push_back(std::accumulate(values.begin(), values.end(), 0.0,
                                  [&](double sum, double other) { return sum + sign(value, other); }));
  return all;
}

bool may_be_place(size_t first_values, size_t n) {
  return first_values >= kFewestAround && first_values + kFewestAround <= n;
}

// The share of the orders of these values in which |U(t)| is `largest` or more at some place. U(t) depends only on
// which values are the first t, so the orders that stay below are counted over sets of values: below[set] is the share
// of the orders of a set that do so at all places in it.
double exact_probability(const std::vector<double>& balance, double largest) {
  const size_t n = balance.size();
  std::vector<double> u(size_t{1} << n), below(size_t{1} << n);
  below[0] = 1;
  for (size_t set = 1; set < u.size(); ++set) {
    u[set] = u[set & (set - 1)] + balance[static_cast<size_t>(std::countr_zero(set))];
    const auto size = static_cast<size_t>(std::popcount(set));
    if (may_be_place(size, n) && std::abs(u[set]) >= largest) continue;
    for (size_t rest = set; rest != 0; rest &= rest - 1) below[set] += below[set & ~(rest & (~rest + 1))];
    below[set] /= static_cast<double>(size);
  }
  return std::max(0.0, 1 - below.back());
}

double approximate_probability(size_t values, double largest) {
  const double n = static_cast<double>(values);
  return std::min(1.0, 2 * std::exp(-6 * largest * largest / (n * n * n + n * n)));
}

struct Change {
  size_t at = 0;       // how many values are before it; 0: none
  double largest = 0;  // |U(t)|, at any place
};

Change clearest_change(const std::vector<double>& balance) {
  const size_t n = balance.size();
  Change found;
  double u = 0, clearest = 0;
  for (size_t first_values = 1; first_values < n; ++first_values) {
    u += balance[first_values - 1];
    if (!may_be_place(first_values, n)) continue;
    found.largest = std::max(found.largest, std::abs(u));
    // The standard deviation of U(t) is this, times what all places have in common.
    const double deviation = std::sqrt(static_cast<double>(first_values) * static_cast<double>(n - first_values));
    if (std::abs(u) / deviation <= clearest) continue;
    clearest = std::abs(u) / deviation;
    found.at = first_values;
  }
  return found;
}

// A part between two others that have another level than it. p is 1 if there is none.
struct Episode {
  size_t from = 0, to = 0;
  double p = 1;
};

// On its two sides U(t) is smallest and largest. Of values in a random order, the difference of the two is distributed
// as Kuiper's statistic: U(t) is then a Brownian bridge, as in Pettitt's approximation.
Episode clearest_episode(std::span<const double> values, const std::vector<double>& balance) {
  constexpr int kTerms = 20;
  const size_t n = values.size();
  double u = 0, smallest = 0, largest = 0;
  size_t low = 0, high = 0;
  for (size_t first_values = 1; first_values < n; ++first_values) {
    u += balance[first_values - 1];
    if (u < smallest) std::tie(smallest, low) = std::tie(u, first_values);
    if (u > largest) std::tie(largest, high) = std::tie(u, first_values);
  }
  const double count = static_cast<double>(n);
  const double square = 3 * (largest - smallest) * (largest - smallest) / (count * count * (count + 1));
  if (n <= kMostExact || square < 1) return {};  // small ones are no episodes, and the sum does not converge for them
  Episode found{.p = 0};
  for (int term = 1; term <= kTerms; ++term)
    found.p += 2 * (4 * term * term * square - 1) * std::exp(-2 * term * term * square);
  // With the other side left out, each side is where the level changes.
  const size_t end = std::max(low, high);
  found.from = clearest_change(balances(values.first(end))).at;
  const size_t length = clearest_change(balances(values.subspan(found.from))).at;
  found.to = found.from + length;
  return found.from == 0 || length == 0 ? Episode{} : found;
}

// Adds the change points of values[from, to) to `found`.
void search(std::span<const double> values, size_t from, size_t to, std::vector<size_t>& found,
            std::vector<double>& p) {
  const size_t n = to - from;
  if (n < kFewestValues) return;
  const auto part = values.subspan(from, n);
  const std::vector<double> balance = balances(part);
  const Change change = clearest_change(balance);
  if (change.at == 0) return;
  const auto add = [&](size_t at, double probability) {
    found.push_back(from + at);
    p.push_back(probability);
  };
  const double probability =
      n <= kMostExact ? exact_probability(balance, change.largest) : approximate_probability(n, change.largest);
  if (probability <= kCertain) {
    search(values, from, from + change.at, found, p);
    add(change.at, probability);
    search(values, from + change.at, to, found, p);
    return;
  }
  const Episode episode = clearest_episode(part, balance);
  if (episode.p > kCertainEpisode) return;
  search(values, from, from + episode.from, found, p);
  add(episode.from, episode.p);
  search(values, from + episode.from, from + episode.to, found, p);
  add(episode.to, episode.p);
  search(values, from + episode.to, to, found, p);
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
    point.median_before = base::median(std::vector(before.begin(), before.end()));
    point.median_after = base::median(std::vector(after.begin(), after.end()));
  }
  return points;
}

}  // namespace kymo::fleet
