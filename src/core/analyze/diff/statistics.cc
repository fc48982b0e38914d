#include "analyze/diff/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace kymo::analyze {
namespace {

constexpr double kNormal975 = 1.959963984540054;
constexpr size_t kExactUpTo = 20;  // values of each sample for which the exact distribution is computed

std::vector<double> in_blocks(std::span<const double> values) {
  if (values.size() <= kMostValues) return {values.begin(), values.end()};
  std::vector<double> blocks;
  for (size_t block = 0; block < kMostValues; ++block) {
    const size_t begin = block * values.size() / kMostValues, end = (block + 1) * values.size() / kMostValues;
    blocks.push_back(std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                     values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
                     static_cast<double>(end - begin));
  }
  return blocks;
}

// The share of the orders of n and m values that give each U, from 0 to n*m. The number of orders is the number of
// partitions of U into at most n parts, each at most m: the coefficients of a Gaussian binomial.
std::vector<double> exact_distribution(size_t n, size_t m) {
  std::vector<double> ways(n * m + 1, 0), next;
  ways[0] = 1;
  for (size_t k = 1; k <= n; ++k) {
    // Multiply by (1 - q^(m+k)) and divide by (1 - q^k).
    next = ways;
    for (size_t u = ways.size(); u-- > m + k;) next[u] -= ways[u - m - k];
    for (size_t u = k; u < next.size(); ++u) next[u] += next[u - k];
    ways = next;
  }
  const double total = std::accumulate(ways.begin(), ways.end(), 0.0);
  for (double& way : ways) way /= total;
  return ways;
}

double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)); }  // two-sided

struct Ranked {
  double u = 0;     // pairs with b > a, half of the equal ones
  double ties = 0;  // sum of t^3 - t
  bool has_ties = false;
};

Ranked rank(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  Ranked ranked;
  for (size_t i = 0; i < all.size();) {
    size_t j = i;
    while (j < all.size() && all[j] == all[i]) ++j;
    const auto t = static_cast<double>(j - i);
    if (j - i > 1) ranked.has_ties = true, ranked.ties += t * t * t - t;
    i = j;
  }
  for (const double y : b)
    for (const double x : a) ranked.u += y > x ? 1 : y == x ? 0.5 : 0;
  return ranked;
}

}  // namespace

Comparison compare(std::span<const double> first, std::span<const double> second) {
  const std::vector<double> a = in_blocks(first), b = in_blocks(second);
  Comparison result;
  if (a.empty() || b.empty()) return result;
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double y : b)
    for (const double x : a) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  const size_t pairs = differences.size();
  result.shift = (differences[(pairs - 1) / 2] + differences[pairs / 2]) / 2;
  const Ranked ranked = rank(a, b);
  result.cliffs_delta = 2 * ranked.u / static_cast<double>(pairs) - 1;
  result.low = differences.front();
  result.high = differences.back();
  result.enough = a.size() >= Comparison::kFewest && b.size() >= Comparison::kFewest;
  if (!result.enough) return result;

  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  size_t outside = 0;  // differences left out at each end of the interval
  if (std::max(a.size(), b.size()) <= kExactUpTo) {
    const std::vector<double> distribution = exact_distribution(a.size(), b.size());
    double below = 0;
    while (outside < pairs / 2 && below + distribution[outside] <= 0.025) below += distribution[outside++];
    if (!ranked.has_ties) {
      const auto smaller = static_cast<size_t>(std::min(ranked.u, n * m - ranked.u));
      double tail = 0;
      for (size_t u = 0; u <= smaller; ++u) tail += distribution[u];
      result.p = std::min(1.0, 2 * tail);
    }
  } else {
    const double spread = std::sqrt(n * m * (n + m + 1) / 12);
    outside = static_cast<size_t>(std::max(0.0, std::floor(n * m / 2 - kNormal975 * spread)));
  }
  if (ranked.has_ties || std::max(a.size(), b.size()) > kExactUpTo) {
    const double all = n + m;
    const double variance = n * m / 12 * (all + 1 - ranked.ties / (all * (all - 1)));
    const double z = std::max(0.0, std::abs(ranked.u - n * m / 2) - 0.5) / std::sqrt(std::max(variance, 1e-300));
    result.p = variance > 0 ? normal_tail(z) : 1;
  }
  if (outside > 0) {
    result.low = differences[outside];
    result.high = differences[pairs - 1 - outside];
  }
  return result;
}

std::vector<double> adjusted(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> q(p.size());
  double smallest = 1;
  for (size_t i = order.size(); i-- > 0;) {
    smallest = std::min(smallest, p[order[i]] * static_cast<double>(p.size()) / static_cast<double>(i + 1));
    q[order[i]] = smallest;
  }
  return q;
}

}  // namespace kymo::analyze
