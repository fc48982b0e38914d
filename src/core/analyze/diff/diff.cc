#include "analyze/diff/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "base/quantile.h"

namespace kymo::analyze {
namespace {

constexpr double kFalseShare = 0.05;

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The values of a key on one side.
struct Side {
  size_t replicates = 0;
  std::vector<double> wall;
  std::map<std::pair<std::string, bool>, std::vector<double>> keys;
};

Side side_of(const std::vector<IterationSums>& runs, bool by_run) {
  Side side;
  for (const IterationSums& run : runs) side.replicates += by_run ? 1 : run.wall_ns.size();
  size_t at = 0;
  for (const IterationSums& run : runs) {
    if (by_run)
      side.wall.push_back(mean(run.wall_ns));
    else
      side.wall.insert(side.wall.end(), run.wall_ns.begin(), run.wall_ns.end());
    for (const KeySums& key : run.keys) {
      std::vector<double>& values = side.keys[{key.key, key.on_device}];
      values.resize(side.replicates);
      if (by_run)
        values[at] = mean(key.ns);
      else
        std::copy(key.ns.begin(), key.ns.end(), values.begin() + static_cast<std::ptrdiff_t>(at));
    }
    at += by_run ? 1 : run.wall_ns.size();
  }
  return side;
}

}  // namespace

Diff compare(const std::vector<IterationSums>& first, const std::vector<IterationSums>& second, Main main,
             double limit) {
  Diff diff;
  const bool by_run = first.size() > 1 || second.size() > 1;
  diff.replicate = by_run ? Replicate::Run : Replicate::Iteration;
  const Side a = side_of(first, by_run), b = side_of(second, by_run);
  diff.replicates_a = a.replicates;
  diff.replicates_b = b.replicates;
  diff.iteration.key = "(iteration)";
  diff.iteration.median_a = base::median(a.wall);
  diff.iteration.median_b = base::median(b.wall);
  const bool is_same = first == second;
  const auto change = [&](std::span<const double> x, std::span<const double> y) {
    Comparison result = by_run ? compare(x, y) : compare_series(x, y);
    if (is_same) {
      const bool enough = std::min(a.replicates, b.replicates) >= Comparison::kFewest;
      result = {.enough = enough, .is_constant = true};
    }
    return result;
  };
  diff.limit = limit * diff.iteration.median_a;
  diff.iteration.change = change(a.wall, b.wall);
  diff.enough = diff.iteration.change.enough;

  const std::vector<double> nothing_a(a.replicates), nothing_b(b.replicates);
  std::map<std::pair<std::string, bool>, int> names;
  for (const auto& [key, values] : a.keys) names[key] |= 1;
  for (const auto& [key, values] : b.keys) names[key] |= 2;
  for (const auto& [key, sides] : names) {
    const std::vector<double>& of_a = (sides & 1) != 0 ? a.keys.at(key) : nothing_a;
    const std::vector<double>& of_b = (sides & 2) != 0 ? b.keys.at(key) : nothing_b;
    DiffRow& row = diff.rows.emplace_back();
    row.key = key.first;
    row.on_device = key.second;
    row.only_a = sides == 1;
    row.only_b = sides == 2;
    row.median_a = base::median(of_a);
    row.median_b = base::median(of_b);
    row.change = change(of_a, of_b);
  }
  // A row that could not be significant whatever the order of its values is no test.
  std::vector<double> p;
  const auto is_tested = [](const DiffRow& row) { return row.change.enough && !row.change.is_constant; };
  for (const DiffRow& row : diff.rows)
    if (is_tested(row)) p.push_back(row.change.p);
  diff.tested = p.size();
  const std::vector<double> q = adjusted(p);
  const auto judge = [&](DiffRow& row, double adjusted_p) {
    row.q = adjusted_p;
    const bool excludes_zero = row.change.low > 0 || row.change.high < 0;
    row.significant = row.change.enough && adjusted_p < kFalseShare && excludes_zero;
    if (main == Main::All)
      row.undecided = !row.significant && (row.change.low < -diff.limit || row.change.high > diff.limit);
    else
      row.undecided = row.change.enough && !row.significant && excludes_zero && std::abs(row.change.cliffs_delta) == 1;
  };
  judge(diff.iteration, diff.iteration.change.p);
  auto next = q.begin();
  for (DiffRow& row : diff.rows) judge(row, is_tested(row) ? *next++ : 1);
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& x, const DiffRow& y) {
    return std::abs(x.change.shift) > std::abs(y.change.shift);
  });
  return diff;
}

size_t fewest_replicates(size_t keys) {
  double p = 2;  // two of the orders of n and n values are the clearest
  size_t n = 0;
  while (n < Comparison::kFewest || p * static_cast<double>(keys) >= kFalseShare) {
    ++n;
    p *= static_cast<double>(n) / static_cast<double>(2 * (2 * n - 1));
  }
  return n;
}

}  // namespace kymo::analyze
