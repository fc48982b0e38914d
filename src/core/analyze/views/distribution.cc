#include "analyze/views/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/decode_ahead.h"
#include "analyze/durations.h"
#include "analyze/operation_name.h"
#include "base/clock_map.h"
#include "base/quantile.h"
#include "base/wildcard.h"
#include "trace/async_pairs.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::views {

namespace {

// Which events of a process have a name that a pattern describes.
//
// The name of an event is the name of its class ("step {}") or its text ("step 7"): either of them may match. Only
// classes whose events have different texts need the values of the events, and only if the pattern may describe one.
class NameFilter {
 public:
  enum class Match : uint8_t { No, Yes, ByText };

  // A name, or a pattern with `*` and `?` (base/wildcard.h). The writer must outlive this object.
  NameFilter(const trace::WriterInfo& writer, const std::string& pattern);

  // Any thread may call it.
  Match of(uint32_t class_id) const { return class_id < table_.size() ? table_[class_id] : of_unusual(class_id); }
  // For ByText: whether the text of an event matches.
  bool describes(std::string_view text) const;
  // Null for class 0 and for a class that is not in the trace.
  const trace::EventClass* event_class(uint32_t class_id) const;

 private:
  Match match(const trace::EventClass& event_class) const;
  Match of_unusual(uint32_t class_id) const;

  const trace::WriterInfo& writer_;
  const std::string pattern_;
  std::vector<Match> table_;  // by class id
};

NameFilter::NameFilter(const trace::WriterInfo& writer, const std::string& pattern)
    : writer_(writer), pattern_(pattern), table_(writer.class_table_size(), Match::No) {
  table_[trace::kInlineName] = Match::ByText;
  for (const auto& [id, event_class] : writer.classes)
    if (id != trace::kInlineName && id < table_.size()) table_[id] = match(event_class);
}

bool NameFilter::describes(std::string_view text) const { return text == pattern_ || base::matches(pattern_, text); }

const trace::EventClass* NameFilter::event_class(uint32_t class_id) const {
  if (class_id == trace::kInlineName) return nullptr;
  return writer_.find_class(class_id);
}

NameFilter::Match NameFilter::match(const trace::EventClass& event_class) const {
  if (describes(trace::shown_name(event_class)) || describes(analyze::operation_name(event_class))) return Match::Yes;
  const size_t place = event_class.name.find("{}");
  if (place == std::string::npos) return Match::No;
  // The text begins like the name, and must begin like the pattern.
  const std::string_view name = std::string_view(event_class.name).substr(0, place);
  const std::string_view pattern = std::string_view(pattern_).substr(0, pattern_.find_first_of("*?"));
  const size_t common = std::min(name.size(), pattern.size());
  return name.substr(0, common) == pattern.substr(0, common) ? Match::ByText : Match::No;
}

NameFilter::Match NameFilter::of_unusual(uint32_t class_id) const {
  const trace::EventClass* const known = event_class(class_id);
  return known == nullptr ? Match::No : match(*known);
}

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

using Match = NameFilter::Match;

constexpr size_t kUsualClasses = 4096;  // their counts are in a table
constexpr size_t kMaxNames = 1 << 16;   // texts that are kept, of the ranges that match and of the others

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

class Search {
 public:
  Search(const trace::Reader& reader, const std::string& pattern, uint64_t exact)
      : reader_(reader), places_{PlaceSums(exact), PlaceSums(exact), PlaceSums(exact)} {
    for (const auto& [id, writer] : reader.writers())
      processes_.emplace(id, Process{writer,
                                     NameFilter(writer, pattern),
                                     static_cast<uint32_t>(processes_.size()),
                                     std::vector<uint64_t>(kUsualClasses),
                                     {}});
  }

  Distributions run(size_t max_buckets);

 private:
  struct Process {
    const trace::WriterInfo& writer;
    NameFilter filter;
    uint32_t number;
    std::vector<uint64_t> counts;          // ranges, by class id
    std::map<uint32_t, uint64_t> unusual;  // the same for ids that are too large for a table

    uint64_t& count(uint32_t class_id) { return class_id < counts.size() ? counts[class_id] : unusual[class_id]; }
  };
  struct Track {
    Process* process = nullptr;  // null: the trace does not describe the track
    RangePlace place = RangePlace::Thread;
    trace::ClockMap clock;
    std::vector<trace::OpenRange> open;  // after the last chunk
  };
  struct Begin {
    int64_t ns;
    bool matches;
  };
  struct End {
    int64_t ns;
  };

  void decode(const trace::EventChunk& chunk, trace::EventBatch& into) const;
  Track& find_track(const trace::EventChunk& chunk);
  void add_ranges(Track& track, const trace::Ranges& ranges);
  void add_points(Track& track, const trace::Points& points);
  bool matches(Process& process, uint32_t class_id, const std::vector<trace::ValueCursor::Value>* row);
  void finish(Distributions& result);

  const trace::Reader& reader_;
  std::map<trace::WriterId, Process> processes_;
  std::map<std::pair<trace::WriterId, uint32_t>, Track> tracks_;
  std::array<PlaceSums, 3> places_;
  std::map<std::string, uint64_t> texts_;
  std::set<std::string> other_texts_;
  trace::AsyncPairs<Begin, End> async_{[this](uint64_t, const Begin& begin, const End& end) {
    PlaceSums& sums = places_[static_cast<size_t>(RangePlace::AcrossThreads)];
    if (begin.matches)
      sums.add(begin.ns < end.ns ? static_cast<uint64_t>(end.ns) - static_cast<uint64_t>(begin.ns) : 0);
  }};
};

Distributions Search::run(size_t max_buckets) {
  Distributions result;
  result.problems = reader_.problems();
  analyze::DecodeAhead chunks(reader_.event_chunks(), [this](const auto& chunk, auto& into) { decode(chunk, into); });
  while (const analyze::DecodeAhead::Item* const item = chunks.next()) {
    Track& track = find_track(*item->chunk);
    if (track.process == nullptr || !item->error.empty()) {
      const std::string what =
          item->error.empty() ? "events of a process or thread the trace does not describe" : item->error;
      result.problems.push_back({item->chunk->offset, item->chunk->length, what});
      continue;
    }
    add_ranges(track, item->batch.ranges);
    add_points(track, item->batch.points);
    track.open = item->batch.closing;
  }
  finish(result);
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
  return result;
}

// Values are read only if the name of an event depends on them.
void Search::decode(const trace::EventChunk& chunk, trace::EventBatch& into) const {
  unsigned parts = trace::kRangeTimes | trace::kRangeClasses | trace::kOpenStacks;
  if (chunk.point_count != 0) parts |= trace::kPoints;
  reader_.read(chunk, into, parts);
  const auto process = processes_.find(chunk.writer);
  if (process == processes_.end()) return;
  const NameFilter& filter = process->second.filter;
  const auto is_by_text = [&](uint32_t class_id) { return filter.of(class_id) == Match::ByText; };
  unsigned values = 0;
  if (std::ranges::any_of(into.ranges.class_id, is_by_text)) values |= trace::kRangeValues;
  for (size_t i = 0; i < into.points.size(); ++i)
    if (into.points.kind[i] == trace::PointKind::AsyncBegin && is_by_text(into.points.class_id[i]))
      values |= trace::kPointValues;
  if (values != 0) reader_.read(chunk, into, parts | values);
}

Search::Track& Search::find_track(const trace::EventChunk& chunk) {
  const auto [entry, is_new] = tracks_.try_emplace({chunk.writer, chunk.track});
  Track& track = entry->second;
  const auto process = processes_.find(chunk.writer);
  if (!is_new || process == processes_.end()) return track;
  const trace::WriterInfo& writer = process->second.writer;
  const auto described = writer.tracks.find(chunk.track);
  if (described == writer.tracks.end()) return track;
  track.process = &process->second;
  if (described->second.kind == trace::TrackKind::DeviceQueue) track.place = RangePlace::Device;
  if (const auto clock = writer.clocks.find(described->second.clock); clock != writer.clocks.end())
    track.clock = trace::clock_map(clock->second);
  return track;
}

// Also counts the names. Without a row, the class alone decides.
bool Search::matches(Process& process, uint32_t class_id, const std::vector<trace::ValueCursor::Value>* row) {
  const Match match = process.filter.of(class_id);
  if (match == Match::ByText && row != nullptr) {
    const std::string text = trace::full_name(process.filter.event_class(class_id), *row);
    if (process.filter.describes(text)) {
      ++(texts_.size() < kMaxNames || texts_.contains(text) ? texts_[text] : texts_["(other names)"]);
      return true;
    }
    if (class_id == trace::kInlineName && other_texts_.size() < kMaxNames) other_texts_.insert(text);
  }
  ++process.count(class_id);
  return match == Match::Yes;
}

void Search::add_ranges(Track& track, const trace::Ranges& ranges) {
  PlaceSums& sums = places_[static_cast<size_t>(track.place)];
  const bool has_values = !ranges.values.ints.empty() || !ranges.values.doubles.empty();
  trace::ValueCursor cursor(ranges.values);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t class_id = ranges.class_id[i];
    const trace::EventClass* const known = track.process->filter.event_class(class_id);
    const auto* const row = has_values ? &cursor.next(known) : nullptr;
    if (matches(*track.process, class_id, row)) sums.add(track.clock.duration_ns(ranges.duration[i]));
  }
}

void Search::add_points(Track& track, const trace::Points& points) {
  const bool has_values = !points.values.ints.empty() || !points.values.doubles.empty();
  trace::ValueCursor cursor(points.values);
  Process& process = *track.process;
  for (size_t i = 0; i < points.size(); ++i) {
    const uint32_t class_id = points.class_id[i];
    const auto* const row = has_values ? &cursor.next(process.filter.event_class(class_id)) : nullptr;
    const trace::AsyncHandle handle{process.number, points.id[i]};
    const int64_t ns = track.clock.to_monotonic_ns(points.time[i]);
    if (points.kind[i] == trace::PointKind::AsyncBegin)
      async_.begin(handle, {ns, matches(process, class_id, row)});
    else if (points.kind[i] == trace::PointKind::AsyncEnd)
      async_.end(handle, {ns});
  }
}

void Search::finish(Distributions& result) {
  async_.finish([this](const trace::AsyncHandle&, const Begin& begin) {
    places_[static_cast<size_t>(RangePlace::AcrossThreads)].unfinished += begin.matches;
  });
  for (auto& [key, track] : tracks_) {
    for (const trace::OpenRange& open : track.open) {
      const trace::Values values{open.ints, open.doubles, open.text};
      trace::ValueCursor cursor(values);
      const auto& row = cursor.next(track.process->filter.event_class(open.class_id));
      places_[static_cast<size_t>(track.place)].unfinished += matches(*track.process, open.class_id, &row);
    }
  }
  result.names = std::move(texts_);
  const auto add_class = [&](const Process& process, uint32_t class_id, uint64_t count) {
    const trace::EventClass* const known = process.filter.event_class(class_id);
    if (count == 0 || known == nullptr) return;
    const std::string name = analyze::operation_name(*known);
    if (process.filter.of(class_id) == Match::Yes)
      result.names[process.filter.describes(name) ? name : trace::shown_name(*known)] += count;
    else
      other_texts_.insert(name);
  };
  for (const auto& [id, process] : processes_) {
    for (uint32_t i = 0; i < process.counts.size(); ++i) add_class(process, i, process.counts[i]);
    for (const auto& [class_id, count] : process.unusual) add_class(process, class_id, count);
  }
  if (result.names.empty()) result.other_names.assign(other_texts_.begin(), other_texts_.end());
}

}  // namespace

Distributions find_durations(const trace::Reader& reader, const std::string& pattern, size_t max_buckets,
                             uint64_t exact) {
  return Search(reader, pattern, exact).run(max_buckets);
}

}  // namespace kymo::views
