// Quantiles of values that are all known: linear interpolation between the two nearest values, as most tools for
// statistics do it. A histogram knows its values only approximately, and looks up the nearest rank instead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kymo::base {

// Where a quantile of `count` sorted values is: at `index`, plus `part` of the way to the next one. `count` is not 0,
// and `share` is from 0 to 1.
struct QuantilePlace {
  size_t index = 0;
  double part = 0;
};
inline QuantilePlace quantile_place(size_t count, double share) {
  const double at = share * static_cast<double>(count - 1);
  const auto index = static_cast<size_t>(at);
  return {index, at - static_cast<double>(index)};
}

// Of sorted values. 0 if there are none.
template <typename Value>
double quantile_of_sorted(const std::vector<Value>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto [index, part] = quantile_place(sorted.size(), share);
  const auto low = static_cast<double>(sorted[index]);
  return part == 0 ? low : low + part * (static_cast<double>(sorted[index + 1]) - low);
}

// Of values in any order, in linear time; changes the order. 0 if there are none.
template <typename Value>
double quantile(std::vector<Value>& values, double share) {
  if (values.empty()) return 0;
  const auto [index, part] = quantile_place(values.size(), share);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  const auto low = static_cast<double>(*at);
  return part == 0 ? low : low + part * (static_cast<double>(*std::min_element(at + 1, values.end())) - low);
}

template <typename Value>
double median(std::vector<Value> values) {
  return quantile(values, 0.5);
}

}  // namespace kymo::base
