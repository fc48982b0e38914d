#include "analyze/report/intervals.h"

#include <algorithm>
#include <utility>

namespace kymo::analyze {
namespace {

uint64_t length_of(const Interval& one) { return static_cast<uint64_t>(one.end) - static_cast<uint64_t>(one.begin); }

}  // namespace

Intervals::Intervals(std::vector<Interval> any) {
  std::erase_if(any, [](const Interval& one) { return one.begin >= one.end; });
  const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(any.begin(), any.end(), by_begin)) std::sort(any.begin(), any.end(), by_begin);
  for (const Interval& one : any) {
    if (!intervals_.empty() && one.begin <= intervals_.back().end)
      intervals_.back().end = std::max(intervals_.back().end, one.end);
    else
      intervals_.push_back(one);
  }
  sum_up();
}

void Intervals::sum_up() {
  before_.clear();
  uint64_t sum = 0;
  for (const Interval& one : intervals_) before_.push_back(sum += length_of(one));
}

uint64_t Intervals::until(int64_t time, size_t& hint) const {
  // The first interval that ends after `time`.
  const auto is_it = [&](size_t i) {
    return (i == intervals_.size() || intervals_[i].end > time) && (i == 0 || intervals_[i - 1].end <= time);
  };
  size_t at = std::min(hint, intervals_.size());
  if (!is_it(at)) {
    if (at < intervals_.size() && is_it(at + 1)) {
      ++at;
    } else if (at > 0 && is_it(at - 1)) {
      --at;
    } else {
      at = static_cast<size_t>(std::partition_point(intervals_.begin(), intervals_.end(),
                                                    [&](const Interval& one) { return one.end <= time; }) -
                               intervals_.begin());
    }
  }
  hint = at;
  const uint64_t before = at == 0 ? 0 : before_[at - 1];
  if (at == intervals_.size() || intervals_[at].begin >= time) return before;
  return before + length_of({intervals_[at].begin, time});
}

uint64_t Intervals::covered(int64_t from, int64_t to, size_t& hint) const {
  if (from >= to || intervals_.empty()) return 0;
  const uint64_t end = until(to, hint);
  size_t begin_hint = hint;
  return end - until(from, begin_hint);
}

Intervals united(const Intervals& a, const Intervals& b) {
  std::vector<Interval> all(a.all().begin(), a.all().end());
  all.insert(all.end(), b.all().begin(), b.all().end());
  return Intervals(std::move(all));
}

Intervals intersection(const Intervals& a, const Intervals& b) {
  std::vector<Interval> common;
  auto one = a.all().begin(), other = b.all().begin();
  while (one != a.all().end() && other != b.all().end()) {
    const Interval both{std::max(one->begin, other->begin), std::min(one->end, other->end)};
    if (both.begin < both.end) common.push_back(both);
    if (one->end < other->end)
      ++one;
    else
      ++other;
  }
  return Intervals(std::move(common));
}

Intervals difference(const Intervals& a, const Intervals& b) {
  std::vector<Interval> rest;
  auto other = b.all().begin();
  for (Interval one : a.all()) {
    while (other != b.all().end() && other->end <= one.begin) ++other;
    for (auto cut = other; cut != b.all().end() && cut->begin < one.end; ++cut) {
      if (one.begin < cut->begin) rest.push_back({one.begin, cut->begin});
      one.begin = std::max(one.begin, cut->end);
    }
    if (one.begin < one.end) rest.push_back(one);
  }
  return Intervals(std::move(rest));
}

}  // namespace kymo::analyze
