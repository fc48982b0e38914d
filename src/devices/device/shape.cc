
#include <algorithm>
#include <functional>
#include <numeric>

#include "base/text.h"
#include "kymo/tensor.h"

namespace kymo::device {

Shape::Shape(std::span<const int64_t> sizes) : dimensions_(static_cast<int>(sizes.size())) {
  if (sizes.size() > kMaxDimensions)
    throw InvalidArgument(
        base::format("a shape of {} dimensions is not supported: the max is {}", sizes.size(), kMaxDimensions));
  int64_t product = 1;
  bool too_many = false, empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0)
      throw InvalidArgument(base::format("a shape of [{}]: dimension {} is negative", base::join(sizes, ", "), i));
    sizes_[i] = sizes[i];
    empty |= sizes[i] == 0;
    too_many |= __builtin_mul_overflow(product, sizes[i], &product);
  }
  // The size in bytes must not overflow either, with 8 bytes per element.
  if (!empty && (too_many || product > (INT64_MAX >> 3))) {
    throw InvalidArgument(
        base::format("a shape of [{}] has more elements than can be counted", base::join(sizes, ", ")));
  }
}

int64_t Shape::elements() const {
  // Check for an empty dimension first: with one, the product of the other dimensions may overflow.
  if (std::ranges::find(sizes(), 0) != sizes().end()) return 0;
  return std::accumulate(sizes().begin(), sizes().end(), int64_t{1}, std::multiplies<>());
}

std::string Shape::text() const { return base::format("[{}]", base::join(sizes(), ", ")); }

}  // namespace kymo::device
