#include "analyze/diff/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/quantile.h"

namespace kymo::analyze {
namespace {

constexpr double kNormal975 = 1.959963984540054;
constexpr size_t kExactUpTo = 20;         // values of each sample for which the exact distribution is computed
constexpr size_t kExactWithTiesUpTo = 8;  // … if some are equal

constexpr double kDrift = 0.35;  // of the trend over a run: how much its level may differ in another run, as deviation

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::span<const double> values) {
  return base::median(std::vector<double>(values.begin(), values.end()));
}

template <typename Middle>
std::vector<double> in_blocks(std::span<const double> values, size_t most, Middle&& middle) {
  if (values.size() <= most) return {values.begin(), values.end()};
  std::vector<double> blocks;
  for (size_t block = 0; block < most; ++block) {
    const size_t begin = block * values.size() / most, end = (block + 1) * values.size() / most;
    blocks.push_back(middle(values.subspan(begin, end - begin)));
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
  double u = 0;                // pairs with b > a, half of the equal ones
  std::vector<size_t> groups;  // how many values are equal, from the smallest value to the largest
  bool has_ties() const {
    return std::any_of(groups.begin(), groups.end(), [](size_t size) { return size > 1; });
  }
};

Ranked rank(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  Ranked ranked;
  for (size_t i = 0; i < all.size();) {
    size_t j = i;
    while (j < all.size() && all[j] == all[i]) ++j;
    ranked.groups.push_back(j - i);
    i = j;
  }
  for (const double y : b)
    for (const double x : a) ranked.u += y > x ? 1 : y == x ? 0.5 : 0;
  return ranked;
}

// The share of the ways to choose m of the values as b that give a U at least as far from its middle, if some values
// are equal. Counts the ways by m and by twice the sum of ranks, one group of equal values after the other.
double exact_p_with_ties(const Ranked& ranked, size_t n, size_t m) {
  const size_t most = 2 * (n + m) * m;  // no sum of ranks is larger
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  size_t before = 0;
  for (const size_t size : ranked.groups) {
    const size_t rank = 2 * before + size + 1;  // twice the mean rank of the group
    for (size_t value = 0; value < size; ++value)
      for (size_t chosen = m; chosen-- > 0;)
        for (size_t sum = 0; sum + rank <= most; ++sum) ways[chosen + 1][sum + rank] += ways[chosen][sum];
    before += size;
  }
  const auto pairs = static_cast<double>(n * m), far = std::abs(2 * ranked.u - pairs);
  double all = 0, tail = 0;
  for (size_t sum = 0; sum <= most; ++sum) {
    all += ways[m][sum];
    const double twice_u = static_cast<double>(sum) - static_cast<double>(m * (m + 1));
    if (std::abs(twice_u - pairs) >= far) tail += ways[m][sum];
  }
  return tail / all;
}

// The differences of all pairs, sorted.
std::vector<double> all_differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double y : b)
    for (const double x : a) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  return differences;
}

Comparison compare_independent(const std::vector<double>& a, const std::vector<double>& b) {
  Comparison result;
  if (a.empty() || b.empty()) return result;
  const std::vector<double> differences = all_differences(a, b);
  const size_t pairs = differences.size();
  result.shift = (differences[(pairs - 1) / 2] + differences[pairs / 2]) / 2;
  const Ranked ranked = rank(a, b);
  result.cliffs_delta = 2 * ranked.u / static_cast<double>(pairs) - 1;
  result.low = differences.front();
  result.high = differences.back();
  result.enough = a.size() >= Comparison::kFewest && b.size() >= Comparison::kFewest;
  if (!result.enough) return result;

  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const bool has_ties = ranked.has_ties();
  result.is_constant = ranked.groups.size() == 1;
  if (result.is_constant) return result;
  size_t outside = 0;  // U up to one less than this is outside of the 95 % in the middle
  if (std::max(a.size(), b.size()) <= kExactUpTo) {
    const std::vector<double> distribution = exact_distribution(a.size(), b.size());
    double below = 0;
    while (outside < pairs / 2 && below + distribution[outside] <= 0.025) below += distribution[outside++];
    if (has_ties && std::max(a.size(), b.size()) <= kExactWithTiesUpTo) {
      result.p = exact_p_with_ties(ranked, a.size(), b.size());
    } else if (!has_ties) {
      const auto smaller = static_cast<size_t>(std::min(ranked.u, n * m - ranked.u));
      double tail = 0;
      for (size_t u = 0; u <= smaller; ++u) tail += distribution[u];
      result.p = std::min(1.0, 2 * tail);
    }
  } else {
    const double spread = std::sqrt(n * m * (n + m + 1) / 12);
    outside = static_cast<size_t>(std::max(0.0, std::floor(n * m / 2 - kNormal975 * spread)));
  }
  if (std::max(a.size(), b.size()) > (has_ties ? kExactWithTiesUpTo : kExactUpTo)) {
    const double all = n + m;
    double ties = 0;
    for (const size_t size : ranked.groups) ties += std::pow(static_cast<double>(size), 3) - static_cast<double>(size);
    const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    const double z = std::max(0.0, std::abs(ranked.u - n * m / 2) - 0.5) / std::sqrt(std::max(variance, 1e-300));
    result.p = variance > 0 ? normal_tail(z) : 1;
  }
  if (outside > 0) {
    result.low = differences[outside - 1];
    result.high = differences[pairs - outside];
  }
  return result;
}

// Student's distribution: the probability of a larger value, in either direction.
double student_tail(double t, unsigned freedom) {
  const double angle = std::atan(std::abs(t) / std::sqrt(freedom)), cosine = std::cos(angle);
  const bool odd = freedom % 2 != 0;
  double term = odd ? cosine : 1, sum = freedom == 1 ? 0 : term;
  for (unsigned k = odd ? 3 : 2; k < freedom; k += 2) sum += term *= cosine * cosine * (k - 1) / k;
  const double inside = std::sin(angle) * sum;
  return std::clamp(1 - (odd ? (angle + inside) * M_2_PI : inside), 0.0, 1.0);
}

// The t that is exceeded, in either direction, with a probability of 5 %.
double student_975(size_t freedom) {
  static const std::vector<double> all = [] {
    std::vector<double> table(2 * kMostBlocks + 1);
    for (unsigned i = 1; i < table.size(); ++i) {
      double low = kNormal975, high = 13;
      while (high - low > 1e-9) (student_tail((low + high) / 2, i) > 0.05 ? low : high) = (low + high) / 2;
      table[i] = low;
    }
    return table;
  }();
  return all[freedom];
}

// How much the values rise from the first to the last one: the median slope of all pairs (Theil and Sen).
double trend(const std::vector<double>& values) {
  std::vector<double> slopes;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  return slopes.empty() ? 0 : base::median(std::move(slopes)) * static_cast<double>(values.size());
}

size_t zeros(std::span<const double> series) {
  return static_cast<size_t>(std::count(series.begin(), series.end(), 0.0));
}

bool has_gaps(std::span<const double> series) {
  return zeros(series) < series.size() && zeros(series) * 10 >= series.size();
}

// With gaps, the other values occur about twice in a block.
std::vector<double> blocks_of(std::span<const double> series, bool gaps) {
  if (!gaps) return in_blocks(series, kMostBlocks, median_of);
  const size_t others = series.size() - zeros(series);
  return in_blocks(series, others == 0 ? kMostBlocks : std::clamp<size_t>(others / 2, 1, kMostBlocks), mean_of);
}

}  // namespace

Comparison compare(std::span<const double> a, std::span<const double> b) {
  return compare_independent(in_blocks(a, kMostValues, mean_of), in_blocks(b, kMostValues, mean_of));
}

double effective_size(std::span<const double> series) {
  const size_t size = series.size();
  const auto n = static_cast<double>(size);
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return series[x] < series[y]; });
  std::vector<double> ranks(size);  // minus their mean
  double variance = 0;
  for (size_t i = 0, j = 0; i < size; i = j) {
    while (j < size && series[order[j]] == series[order[i]]) ++j;
    const double rank = static_cast<double>(i + j) / 2 - n / 2;
    for (size_t k = i; k < j; ++k) ranks[order[k]] = rank;
    variance += rank * rank * static_cast<double>(j - i);
  }
  if (variance == 0) return n;
  const auto correlation = [&](size_t lag) {
    return std::inner_product(ranks.begin() + static_cast<std::ptrdiff_t>(lag), ranks.end(), ranks.begin(), 0.0) /
           variance;
  };
  // Geyer's initial monotone sequence: sums of two neighbours, which do not grow again.
  double sum = -1, last = 2;
  size_t lags = 0;
  for (; lags + 1 < size; lags += 2) {
    const double both = std::min(last, correlation(lags) + correlation(lags + 1));
    if (both <= 0) break;
    sum += 2 * both;
    last = both;
  }
  // Each correlation is too small by about the variance of the mean, which is what is looked for.
  sum /= std::max(0.05, 1 - (2 * static_cast<double>(lags) - 1) / n);
  return std::clamp(n / std::max(sum, 1.0), std::min(2.0, n), n);
}

Comparison compare_series(std::span<const double> first, std::span<const double> second) {
  const bool gaps = has_gaps(first) || has_gaps(second);
  const std::vector<double> a = blocks_of(first, gaps), b = blocks_of(second, gaps);
  Comparison result = compare_independent(a, b);
  if (!result.enough) return result;
  // The deviation of the shift, if the values were independent, divided between the two series and made larger.
  const double half = (result.high - result.low) / 2;
  const double both = 1 / static_cast<double>(a.size()) + 1 / static_cast<double>(b.size());
  const double variance = half * half / (kNormal975 * kNormal975) / both;
  const auto variance_of = [&](const std::vector<double>& values, double effective) {
    const double drift = kDrift * trend(values);
    return std::max(variance / effective, drift * drift);
  };
  const double size_a = effective_size(a), size_b = effective_size(b);
  const double share_a = 1 / size_a, share_b = 1 / size_b;
  const auto freedom = static_cast<unsigned>(std::clamp(
      (share_a + share_b) * (share_a + share_b) / (share_a * share_a / (size_a - 1) + share_b * share_b / (size_b - 1)),
      2.0, 2.0 * kMostBlocks));
  const double deviation = std::sqrt(variance_of(a, size_a) + variance_of(b, size_b));
  const double reach = student_975(freedom) * deviation;
  result.low = result.shift - (half > 0 ? (result.shift - result.low) / half : 1) * reach;
  result.high = result.shift + (half > 0 ? (result.high - result.shift) / half : 1) * reach;
  if (deviation > 0) result.p = std::max(result.p, student_tail(result.shift / deviation, freedom));
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
