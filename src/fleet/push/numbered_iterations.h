// The numbers of the iterations of a trace, and the values of the column `numbered`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/report/iteration_operations.h"
#include "push/tables.h"

namespace kymo::push {

class NumberedIterations {
 public:
  explicit NumberedIterations(analyze::IterationNumbers numbers)
      : numbers_(std::move(numbers)), repeated_(analyze::repeated_later(numbers_, analyze::iteration_runs(numbers_))) {}
  const analyze::IterationNumbers& list() const { return numbers_; }
  uint64_t number(size_t i) const { return numbered(i) == kPlace ? i : *numbers_[i]; }
  uint64_t numbered(size_t i) const {
    if (numbers_.empty() || !numbers_[i]) return kPlace;
    return repeated_[i] ? kRepeatedLater : kNumber;
  }
  // Those without one, although others have one.
  uint64_t missing() const { return static_cast<uint64_t>(std::count(numbers_.begin(), numbers_.end(), std::nullopt)); }

 private:
  analyze::IterationNumbers numbers_;
  std::vector<bool> repeated_;
};

}  // namespace kymo::push
