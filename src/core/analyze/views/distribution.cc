#include "analyze/views/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/durations.h"
#include "analyze/operation_name.h"
#include "base/clock_map.h"
#include "base/quantile.h"
#include "base/wildcard.h"
#include "convert/events.h"
#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::views {

namespace {

// The limits within a power of ten, in thousandths.
std::vector<uint64_t> limits_in_decade(unsigned parts) {
  switch (parts) {
    case 1:
      return {1000};
    case 2:
      return {1000, 3000};
    case 3:
      return {1000, 2000, 5000};
    case 6:
      return {1000, 1500, 2000, 3000, 5000, 7000};
    default:
      std::vector<uint64_t> limits;
      for (unsigned i = 0; i < parts; ++i)
        limits.push_back(static_cast<uint64_t>(std::llround(std::pow(10, static_cast<double>(i) / parts) * 100)) * 10);
      return limits;
  }
}

// The limits of all buckets from 0 to beyond the longest duration. Below 1 µs some limits would be equal.
std::vector<uint64_t> limits_with(unsigned parts) {
  constexpr uint64_t kLastDecade = 10'000'000'000'000'000'000u;
  std::vector<uint64_t> limits = {0};
  const std::vector<uint64_t> in_decade = limits_in_decade(parts);
  for (uint64_t decade = 1;; decade *= 10) {
    for (const uint64_t limit : in_decade) {
      if (decade == kLastDecade && limit > 1000) break;  // beyond 64 bits
      const uint64_t ns = decade >= 1000 ? decade / 1000 * limit : decade * limit / 1000;
      if (ns > limits.back()) limits.push_back(ns);
    }
    if (decade == kLastDecade) break;
  }
  limits.push_back(UINT64_MAX);
  return limits;
}

}  // namespace

std::vector<DurationBucket> make_log_buckets(uint64_t min_ns, uint64_t max_ns, size_t most) {
  std::vector<DurationBucket> best;
  for (const unsigned parts : {1u, 2u, 3u, 6u, 12u, 24u, 48u, 96u}) {
    const std::vector<uint64_t> limits = limits_with(parts);
    const auto first = std::upper_bound(limits.begin(), limits.end() - 1, min_ns) - 1;
    const auto last = std::upper_bound(first, limits.end() - 1, max_ns) - 1;
    const auto count = static_cast<size_t>(last - first) + 1;
    if (!best.empty() && count > most) break;
    best.clear();
    for (auto at = first; at <= last; ++at) best.push_back({*at, *(at + 1), 0});
  }
  return best;
}

void add_to_buckets(std::vector<DurationBucket>& buckets, uint64_t ns, uint64_t count) {
  const auto after =
      std::upper_bound(buckets.begin(), buckets.end(), ns,
                       [](uint64_t value, const DurationBucket& bucket) { return value < bucket.from_ns; });
  (after == buckets.begin() ? *after : *(after - 1)).count += count;
}

namespace {

constexpr size_t kMaxNames = 1 << 16;  // texts that are kept, of the ranges that match and of the others

// The durations of one place, in nanoseconds.
struct PlaceSums {
  explicit PlaceSums(uint64_t exact) : budget(exact, exact), durations(budget) {}

  void add(uint64_t ns) {
    ++count;
    total += ns;
    min = std::min(min, ns);
    max = std::max(max, ns);
    durations.add(ns);
  }

  uint64_t count = 0, total = 0, min = UINT64_MAX, max = 0, unfinished = 0;
  analyze::ExactBudget budget;
  analyze::Durations durations;
};

void add_quantiles(PlaceSums& sums, Distribution& into) {
  if (sums.durations.is_exact()) {
    const std::span<const uint64_t> exact = sums.durations.exact();
    std::vector<uint64_t> sorted(exact.begin(), exact.end());
    std::sort(sorted.begin(), sorted.end());
    into.p50_ns = base::round_ns(base::quantile_of_sorted(sorted, 0.5));
    into.p90_ns = base::round_ns(base::quantile_of_sorted(sorted, 0.9));
    into.p99_ns = base::round_ns(base::quantile_of_sorted(sorted, 0.99));
    for (const uint64_t ns : sorted) add_to_buckets(into.buckets, ns);
    return;
  }
  into.approximate = true;
  into.relative_error = analyze::LogHistogram::kRelativeError;
  uint64_t before = 0;
  sums.durations.histogram().for_each([&](double middle, uint64_t count) {
    // The middle of a bucket may lie outside of what was measured.
    const uint64_t ns = std::clamp(static_cast<uint64_t>(std::min(middle, 9e18)), into.min_ns, into.max_ns);
    const auto take = [&](uint64_t percent, uint64_t& quantile) {
      const uint64_t rank = analyze::LogHistogram::nearest_rank(sums.count, percent);
      if (before <= rank && rank < before + count) quantile = ns;
    };
    take(50, into.p50_ns);
    take(90, into.p90_ns);
    take(99, into.p99_ns);
    add_to_buckets(into.buckets, ns, count);
    before += count;
  });
}

// The name of an event is the name of its class ("step {}") or its text ("step 7"): either of them may match.
class Search : public convert::EventVisitor {
 public:
  Search(const std::string& pattern, uint64_t exact)
      : pattern_(pattern), places_{PlaceSums(exact), PlaceSums(exact), PlaceSums(exact)} {}

  bool wants_untimed() const override { return true; }
  void range(const convert::Range& range) override {
    const bool on_device = range.place->track->kind == trace::TrackKind::DeviceQueue;
    add(range, on_device ? RangePlace::Device : RangePlace::Thread, range.finished, range.duration_ns);
  }
  void async_range(const convert::AsyncRange& range) override {
    add(range, RangePlace::AcrossThreads, range.finished, convert::elapsed_ns(range.start_ns, range.end_ns));
  }

  Distributions finish(std::vector<trace::Problem> problems, size_t max_buckets);

 private:
  // Whether a class has a name that the pattern describes.
  struct Match {
    std::string name;  // that it describes, or the operation's; empty: not looked at yet
    bool matches = false;
  };

  bool describes(std::string_view text) const { return text == pattern_ || base::matches(pattern_, text); }
  void add(const convert::Event& event, RangePlace place, bool finished, uint64_t ns) {
    if (!matches(event)) return;
    PlaceSums& sums = places_[static_cast<size_t>(place)];
    if (finished)
      sums.add(ns);
    else
      ++sums.unfinished;
  }
  bool matches(const convert::Event& event);

  const std::string pattern_;
  std::array<PlaceSums, 3> places_;
  std::vector<Match> classes_;  // by ClassInfo::index
  std::map<std::string, uint64_t> names_;
  std::set<std::string> other_names_;
};

// Also counts the names.
bool Search::matches(const convert::Event& event) {
  const convert::ClassInfo& info = *event.event_class;
  if (!info.is_known) return false;
  if (info.index >= classes_.size()) classes_.resize(info.index + size_t{1});
  Match& known = classes_[info.index];
  const bool is_inline = info.event_class.id == trace::kInlineName;  // each event has a name of its own
  if (known.name.empty() && !is_inline) {
    known.name = analyze::operation_name(info.event_class);
    known.matches = describes(known.name);
    if (const std::string shown(trace::shown_name(info.event_class)); !known.matches && describes(shown)) {
      known.name = shown;
      known.matches = true;
    }
  }
  if (known.matches) {
    ++names_[known.name];
    return true;
  }
  if ((is_inline || info.has_places) && describes(event.name)) {
    const std::string text(event.name);
    ++names_[names_.size() < kMaxNames || names_.contains(text) ? text : "(other names)"];
    return true;
  }
  if (other_names_.size() < kMaxNames) other_names_.insert(is_inline ? std::string(event.name) : known.name);
  return false;
}

Distributions Search::finish(std::vector<trace::Problem> problems, size_t max_buckets) {
  Distributions result;
  result.problems = std::move(problems);
  for (size_t i = 0; i < places_.size(); ++i) {
    PlaceSums& sums = places_[i];
    if (sums.count == 0 && sums.unfinished == 0) continue;
    Distribution& row = result.places.emplace_back();
    row.place = static_cast<RangePlace>(i);
    row.unfinished = sums.unfinished;
    if (sums.count == 0) continue;
    row.count = sums.count;
    row.total_ns = sums.total;
    row.min_ns = sums.min;
    row.max_ns = sums.max;
    row.buckets = make_log_buckets(row.min_ns, row.max_ns, max_buckets);
    add_quantiles(sums, row);
  }
  result.names = std::move(names_);
  if (result.names.empty()) result.other_names.assign(other_names_.begin(), other_names_.end());
  return result;
}

}  // namespace

Distributions find_durations(const trace::Reader& reader, const std::string& pattern, size_t max_buckets,
                             uint64_t exact) {
  const convert::Places places(reader);
  Search search(pattern, exact);
  convert::WalkReport report = convert::visit_events(reader, places, convert::TimeBase::Monotonic, search);
  return search.finish(std::move(report.problems), max_buckets);
}

}  // namespace kymo::views
