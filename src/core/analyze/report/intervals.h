// A set of times, as intervals that do not touch each other, in order. Times are nanoseconds; an interval includes its
// begin and not its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kymo::analyze {

struct Interval {
  int64_t begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
};

// The length of a time, for any two times of a trace that nobody has checked; never negative.
inline int64_t time_between(int64_t begin, int64_t end) {
  int64_t length = 0;
  if (end <= begin) return 0;
  return __builtin_sub_overflow(end, begin, &length) ? INT64_MAX : length;
}

class Intervals {
 public:
  Intervals() = default;
  // In any order; they may overlap. Empty ones are dropped.
  explicit Intervals(std::vector<Interval> any);

  std::span<const Interval> all() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  uint64_t length() const { return before_.empty() ? 0 : before_.back(); }

  // How much of [from, to) is in the set. Amortized constant time if the calls are in about the order of time; `hint`
  // belongs to the caller and starts with 0.
  uint64_t covered(int64_t from, int64_t to, size_t& hint) const;
  uint64_t covered(int64_t from, int64_t to) const {
    size_t hint = 0;
    return covered(from, to, hint);
  }

 private:
  uint64_t until(int64_t time, size_t& hint) const;  // the length before `time`
  void sum_up();

  std::vector<Interval> intervals_;
  std::vector<uint64_t> before_;  // [i]: the length of the intervals up to and with i
};

Intervals united(const Intervals& a, const Intervals& b);
Intervals intersection(const Intervals& a, const Intervals& b);
Intervals difference(const Intervals& a, const Intervals& b);  // in a and not in b

}  // namespace kymo::analyze
