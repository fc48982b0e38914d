#include "analyze/merge/matching.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace kymo::analyze {
namespace {

constexpr size_t kFewest = 4;            // events of a shift
constexpr size_t kSample = 256;          // events of a shift that are compared
constexpr std::ptrdiff_t kReach = 1024;  // shifts to either side
constexpr double kFloorNs = 100;         // ends that are closer than this are equally close

// One shift of a list against the other. Times are differences from those of the first events.
struct Shift {
  std::ptrdiff_t by = 0;
  std::ptrdiff_t overlap = 0;  // events that both lists have
  double count = 0;            // of those that were compared
  double fit = 0;              // the logarithm of the mean distance of the ends from a line
  Line line;
};

struct Change {
  double count = 0, fit = 0;
};
using Changes = std::array<Change, 6>;  // of events that are 1, 2, 4, … apart

double logarithm(double distance) { return 0.5 * std::log(distance * distance + kFloorNs * kFloorNs); }

class Shifts {
 public:
  Shifts(const SharedEvents& reference, const SharedEvents& other) : reference_(reference), other_(other) {}

  // Nothing if it has few events in common, or events of other kinds.
  std::optional<Shift> at(std::ptrdiff_t by) {
    const auto size = static_cast<std::ptrdiff_t>(other_.size());
    const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, -by),
                         end = std::min(size, static_cast<std::ptrdiff_t>(reference_.size()) - by);
    if (end - begin < static_cast<std::ptrdiff_t>(kFewest)) return {};
    const auto sample = static_cast<std::ptrdiff_t>(kSample);
    const std::ptrdiff_t step = (end - begin + sample - 1) / sample;
    differences_.clear();
    size_t seen = 0;
    for (std::ptrdiff_t i = begin; i < end; i += step, ++seen) {
      const SharedEvent &a = reference_[static_cast<size_t>(i + by)], &b = other_[static_cast<size_t>(i)];
      if (a.kind == b.kind) differences_.push_back(difference_of(a, b));
    }
    if (differences_.size() < kFewest || 3 * differences_.size() < 2 * seen) return {};
    Shift shift = shift_of();
    shift.by = by;
    shift.overlap = end - begin;
    return shift;
  }

  // Of pairs that are known.
  Shift of(std::span<const std::pair<size_t, size_t>> pairs) {
    differences_.clear();
    for (const auto& [a, b] : pairs) differences_.push_back(difference_of(reference_[a], other_[b]));
    std::ranges::sort(differences_, {}, &Difference::x);
    return shift_of();
  }

  // How far the distances of the last shift change from one event to a later one: the logarithm of the mean, for
  // events that are 1, 2, 4, … apart. Unlike the distances, the changes do not depend on each other.
  Changes changes(const Line& line) const {
    Changes all;
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t apart = size_t{1} << i;
      if (differences_.size() < apart * kFewest + 1) break;
      const auto far = [&](size_t at) { return differences_[at].y - line.at(differences_[at].x); };
      for (size_t at = apart; at < differences_.size(); at += apart, ++all[i].count)
        all[i].fit += logarithm(far(at) - far(at - apart));
      all[i].fit /= all[i].count;
    }
    return all;
  }

  // The best that a list fits itself at another place. Nothing if it is too short to tell.
  struct SelfFit {
    double fit = std::numeric_limits<double>::infinity();
    Changes changes;
  };
  static std::optional<SelfFit> self_fit(const SharedEvents& events) {
    if (events.size() < 2 * kFewest) return {};
    SelfFit best;
    for (Change& one : best.changes) one.fit = best.fit;
    Shifts self(events, events);
    const std::ptrdiff_t most = std::min(kReach, static_cast<std::ptrdiff_t>(events.size() / 2));
    for (std::ptrdiff_t by = 1; by <= most; ++by) {
      const auto shift = self.at(by);
      if (!shift) continue;
      best.fit = std::min(best.fit, shift->fit);
      const Changes changes = self.changes(shift->line);
      double fit = shift->fit;  // where a shift has too few events for changes so far apart
      for (size_t i = 0; i < changes.size(); ++i) {
        if (changes[i].count > 0) fit = changes[i].fit;
        best.changes[i].fit = std::min(best.changes[i].fit, fit);
      }
    }
    return best;
  }

  double span() const { return static_cast<double>(difference(other_.back().end, other_.front().end)); }
  int64_t offset() const { return difference(reference_.front().end, other_.front().end); }

 private:
  Difference difference_of(const SharedEvent& a, const SharedEvent& b) const {
    return {static_cast<double>(difference(b.end, other_.front().end)),
            static_cast<double>(difference(difference(a.end, b.end), offset()))};
  }

  Shift shift_of() const {
    Shift shift;
    shift.count = static_cast<double>(differences_.size());
    shift.line = fit_line(differences_);
    for (const Difference& one : differences_) {
      shift.fit += logarithm(one.y - shift.line.at(one.x));
    }
    // A line is close to few events by chance.
    shift.fit = shift.fit / shift.count + std::log(shift.count / (shift.count - 2));
    return shift;
  }

  const SharedEvents &reference_, &other_;
  std::vector<Difference> differences_;
};

// Which fits can differ by chance: the logarithm of a distance has a standard deviation of about 1.
double chance(double count) { return 5 / std::sqrt(count); }

SharedEvents of_kinds(const SharedEvents& events, const std::set<uint32_t>& kinds) {
  SharedEvents some;
  for (const SharedEvent& one : events)
    if (kinds.count(one.kind) != 0) some.push_back(one);
  return some;
}

std::set<uint32_t> kinds_of(const SharedEvents& events) {
  std::set<uint32_t> kinds;
  for (const SharedEvent& one : events) kinds.insert(one.kind);
  return kinds;
}

using Key = std::pair<uint32_t, std::optional<int64_t>>;
std::map<Key, std::vector<size_t>> by_key(const SharedEvents& events) {
  std::map<Key, std::vector<size_t>> lists;
  for (size_t i = 0; i < events.size(); ++i) lists[{events[i].kind, events[i].number}].push_back(i);
  return lists;
}

// Nothing if one of the lists has no numbers.
std::optional<std::vector<std::pair<size_t, size_t>>> by_number(const SharedEvents& reference,
                                                                const SharedEvents& other) {
  const auto has_number = [](const SharedEvent& one) { return one.number.has_value(); };
  if (std::none_of(reference.begin(), reference.end(), has_number) ||
      std::none_of(other.begin(), other.end(), has_number))
    return {};
  std::vector<std::pair<size_t, size_t>> pairs;
  const auto lists = by_key(reference);
  for (const auto& [key, own] : by_key(other)) {
    const auto same = lists.find(key);
    if (!key.second || same == lists.end() || same->second.size() != own.size()) continue;
    for (size_t i = 0; i < own.size(); ++i) pairs.emplace_back(same->second[i], own[i]);
  }
  return pairs;
}

std::vector<Shift> all_shifts(Shifts& shifts, const SharedEvents& reference, const SharedEvents& other,
                              std::optional<int64_t> by_system_clock) {
  std::set<std::ptrdiff_t> centers{0};
  if (by_system_clock) {
    Alignment by;
    by.offset_ns = *by_system_clock;
    const int64_t time = by.to_reference(other.front().end);
    const auto at = std::partition_point(reference.begin(), reference.end(),
                                         [&](const SharedEvent& one) { return one.end < time; });
    centers.insert(at - reference.begin());
  }
  std::set<std::ptrdiff_t> candidates;
  for (const std::ptrdiff_t center : centers)
    for (std::ptrdiff_t by = center - kReach; by <= center + kReach; ++by) candidates.insert(by);
  std::vector<Shift> all;
  for (const std::ptrdiff_t by : candidates)
    if (auto shift = shifts.at(by)) all.push_back(*shift);
  return all;
}

}  // namespace

Matching match_events(const SharedEvents& all_reference, const SharedEvents& all_other,
                      std::optional<int64_t> by_system_clock) {
  Matching result;
  const SharedEvents reference = of_kinds(all_reference, kinds_of(all_other)),
                     other = of_kinds(all_other, kinds_of(reference));
  if (reference.size() < kFewest || other.size() < kFewest) return result;
  Shifts shifts(reference, other);
  const double distance = shifts.span() / static_cast<double>(other.size() - 1);
  double self = std::log(std::max(distance, kFloorNs));
  Changes changes;
  for (Change& one : changes) one.fit = self;
  bool can_prove = true;
  for (const SharedEvents* const events : {&reference, &other}) {
    const auto fit = Shifts::self_fit(*events);
    can_prove = can_prove && fit;
    if (!fit) continue;
    self = std::min(self, fit->fit);
    for (size_t i = 0; i < changes.size(); ++i) changes[i].fit = std::min(changes[i].fit, fit->changes[i].fit);
  }
  // `shift` is the last one that was compared, and the best of `of`.
  const auto is_proof = [&](const Shift& shift, size_t of) {
    constexpr double kSure = 12;  // one in 160,000
    const Changes own = shifts.changes(shift.line);
    for (size_t i = 0; i < own.size() && can_prove; ++i) {
      const double better = changes[i].fit - own[i].fit;
      if (own[i].count > 0 && better > chance(own[i].count) &&
          own[i].count * better > std::log(static_cast<double>(of)) + kSure)
        return true;
    }
    return false;
  };

  auto pairs = by_number(reference, other);
  Shift best;
  if (pairs) {
    if (pairs->size() < kFewest) return result;
    best = shifts.of(*pairs);
    result.is_proven = is_proof(best, 1);
    result.ways = 1;
  } else {
    const std::vector<Shift> all = all_shifts(shifts, reference, other, by_system_clock);
    if (all.empty()) return result;
    best = *std::max_element(all.begin(), all.end(), [&](const Shift& a, const Shift& b) {
      return (a.count - 2) * (self - a.fit) < (b.count - 2) * (self - b.fit);
    });
    shifts.at(best.by);
    result.is_proven = is_proof(best, all.size());
    result.ways = 1;
    if (!result.is_proven) {
      std::ptrdiff_t most = 0;
      for (const Shift& one : all) most = std::max(most, one.overlap);
      const Shift* closest = nullptr;
      for (const Shift& one : all)
        if (2 * one.overlap >= most && (closest == nullptr || one.fit < closest->fit)) closest = &one;
      std::vector<Shift> possible;
      for (const Shift& one : all)
        if (one.fit - closest->fit <= chance(std::min(one.count, closest->count))) possible.push_back(one);
      const double wanted = by_system_clock ? static_cast<double>(difference(*by_system_clock, shifts.offset())) : 0;
      const auto away = [&](const Shift& one) {
        return by_system_clock ? std::abs(one.line.at(shifts.span() / 2) - wanted) : -static_cast<double>(one.overlap);
      };
      best = *std::min_element(possible.begin(), possible.end(),
                               [&](const Shift& a, const Shift& b) { return away(a) < away(b); });
      result.ways = possible.size();
      double reach = 0;
      for (const Shift& one : possible)
        for (const double x : {0.0, shifts.span()}) reach = std::max(reach, std::abs(one.line.at(x) - best.line.at(x)));
      result.reach_ns = static_cast<uint64_t>(std::min(reach, 9e18));
      const auto most_shifts = static_cast<size_t>(kReach);
      const bool are_all = reference.size() <= most_shifts && other.size() <= most_shifts;
      const bool is_any = possible.front().by == all.front().by && possible.back().by == all.back().by;
      result.is_bounded = can_prove && (result.ways == 1 || (are_all && !is_any && 2 * reach < shifts.span()));
    }
    pairs.emplace();
    for (size_t i = 0; i < other.size(); ++i) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + best.by;
      if (at >= 0 && static_cast<size_t>(at) < reference.size() &&
          reference[static_cast<size_t>(at)].kind == other[i].kind)
        pairs->emplace_back(static_cast<size_t>(at), i);
    }
  }
  result.fits = best.fit < std::log(std::max(distance / 4, 4 * kFloorNs));
  // Of two events that are the same one, none ends before the other begins.
  size_t apart = 0;
  for (const auto& [a, b] : *pairs) {
    result.moments.push_back({reference[a].end, other[b].end});
    const double offset = best.line.at(static_cast<double>(difference(other[b].end, other.front().end)));
    const double ends =
        static_cast<double>(difference(difference(reference[a].end, other[b].end), shifts.offset())) - offset;
    const double lasts = static_cast<double>(
        difference(ends > 0 ? reference[a].end : other[b].end, ends > 0 ? reference[a].begin : other[b].begin));
    apart += lasts > 0 && std::abs(ends) > lasts;
  }
  if (2 * apart > pairs->size()) result.fits = false;
  result.fits = result.fits || result.is_proven;
  return result;
}

namespace {

// For each of the times, the index of the nearest one of the others. Both are sorted and not empty.
std::vector<size_t> nearest(const std::vector<int64_t>& times, const std::vector<int64_t>& others) {
  std::vector<size_t> found;
  for (const int64_t time : times) {
    auto at = static_cast<size_t>(std::lower_bound(others.begin(), others.end(), time) - others.begin());
    if (at == others.size() || (at > 0 && difference(time, others[at - 1]) < difference(others[at], time))) --at;
    found.push_back(at);
  }
  return found;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> pair_events(const SharedEvents& reference, const SharedEvents& other,
                                                   const Alignment& alignment) {
  std::vector<std::pair<size_t, size_t>> pairs;
  const auto slack = static_cast<int64_t>(std::min<uint64_t>(alignment.error_ns, INT64_MAX));
  const auto lists = by_key(reference);
  for (const auto& [key, own] : by_key(other)) {
    const auto same = lists.find(key);
    if (same == lists.end()) continue;
    std::vector<int64_t> times, others;
    for (const size_t i : same->second) times.push_back(reference[i].end);
    for (const size_t i : own) others.push_back(alignment.to_reference(other[i].end));
    const std::vector<size_t> to_own = nearest(times, others), to_reference = nearest(others, times);
    for (size_t i = 0; i < own.size(); ++i) {
      if (to_own[to_reference[i]] != i) continue;
      const SharedEvent &a = reference[same->second[to_reference[i]]], &b = other[own[i]];
      if (difference(a.begin, others[i]) <= slack && difference(alignment.to_reference(b.begin), a.end) <= slack)
        pairs.emplace_back(same->second[to_reference[i]], own[i]);
    }
  }
  return pairs;
}

}  // namespace kymo::analyze
