#include "analyze/merge/merge.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/merge/matching.h"
#include "analyze/merge/shared_events.h"
#include "analyze/report/events.h"
#include "base/text.h"
#include "base/units.h"
#include "convert/copy.h"
#include "trace/clock.h"
#include "trace/writer.h"

namespace kymo::analyze {
namespace {

// With fewer shared events, they match in several ways, and nothing says how wrong the result is.
constexpr size_t kFewestMoments = 4;

uint64_t largest_error(const trace::Reader& reader) {
  uint64_t error = 0;
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [clock_id, clock] : writer.clocks)
      for (const trace::ClockPair& pair : clock.pairs) error = std::max(error, pair.error_ns);
  return error;
}

// CLOCK_REALTIME minus CLOCK_MONOTONIC of a trace, from its first clock pair.
std::optional<int64_t> realtime_offset(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [clock_id, clock] : writer.clocks)
      if (!clock.pairs.empty())
        return static_cast<int64_t>(clock.pairs.front().realtime_ns - clock.pairs.front().monotonic_ns);
  return std::nullopt;
}

// Nothing if the processes of the trace do not have the same one.
std::optional<trace::MeasuredClock> measured_clock(const trace::Reader& reader) {
  std::optional<trace::MeasuredClock> clock;
  for (const auto& [id, writer] : reader.writers()) {
    auto own = trace::measured_clock(writer.origin);
    if (!own || (clock && (clock->reference != own->reference || clock->offset_ns != own->offset_ns))) return {};
    clock = std::move(own);
  }
  return clock;
}

// The number after the first of these words in the metadata of a trace, if all its processes that have one agree.
std::optional<uint64_t> metadata_number(const trace::Reader& reader, std::string_view in_json,
                                        std::initializer_list<std::string_view> variables) {
  std::set<uint64_t> numbers;
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [name, value] : writer.origin.metadata) {
      std::string_view text = value;
      if (name == "distributedInfo") {  // of PyTorch: {"rank": 3, "world_size": 8}
        const size_t at = text.find(in_json);
        if (at == text.npos) continue;
        text.remove_prefix(at + in_json.size());
        text.remove_prefix(std::min(text.find_first_not_of(" :"), text.size()));
      } else if (std::find(variables.begin(), variables.end(), name) == variables.end()) {
        continue;
      }
      uint64_t number = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{}) numbers.insert(number);
    }
  return numbers.size() == 1 ? std::optional(*numbers.begin()) : std::nullopt;
}

// What the alignment of a trace uses.
struct Side {
  Side(const trace::Reader& of, const std::string& mark, Kinds& kinds) : reader(of), realtime(realtime_offset(of)) {
    EventWalk walk(of);
    events = shared_events(walk, mark, kinds);
    first = walk.first_ns();
    last = walk.last_ns();
    for (const auto& [id, writer] : of.writers()) boots.insert(writer.origin.boot_id);
    measured = measured_clock(of);
    rank = metadata_number(of, "\"rank\"", {"KYMO_RANK", "RANK"});
    world_size = metadata_number(of, "\"world_size\"", {"WORLD_SIZE"});
  }

  // Traces of other tools may have times since the boot of the host, or since anything.
  bool has_date() const {
    constexpr int64_t kYear2000 = 946'684'800'000'000'000;
    return realtime && sum(*realtime, first) > kYear2000;
  }
  bool has_boot_of(const Side& other) const {
    return boots == other.boots && boots.size() == 1 && !boots.begin()->empty();
  }

  const trace::Reader& reader;
  SharedEvents events;
  int64_t first = 0, last = 0;  // of all events
  std::optional<int64_t> realtime;
  std::set<std::string> boots;
  std::optional<trace::MeasuredClock> measured;
  std::optional<uint64_t> rank, world_size;
};

// From two clocks that were measured against the same third one.
std::optional<Alignment> by_measurement(const Side& reference, const Side& other, int64_t by_system_clock) {
  const auto &first = reference.measured, &second = other.measured;
  if (!first || !second || first->reference != second->reference) return {};
  Alignment alignment;
  alignment.offset_ns = sum(difference(by_system_clock, second->offset_ns), first->offset_ns);
  alignment.error_ns = first->error_ns + second->error_ns + largest_error(reference.reader);
  return alignment;
}

// Why two traces cannot be of the same run of a job; empty: nothing says so. Times of collectives may be proof that
// they are of one run, but not for the same rank at another time.
std::string other_run(const Side& reference, const Side& other, std::optional<int64_t> by_system_clock,
                      bool is_proven) {
  const bool is_same_rank = reference.rank && reference.rank == other.rank;
  if (is_proven) {
    if (!is_same_rank) return {};
  } else {
    if (is_same_rank) return base::format("both are of rank {}", *other.rank);
    if (reference.world_size && other.world_size && reference.world_size != other.world_size)
      return base::format("their jobs have {} and {} ranks", *reference.world_size, *other.world_size);
  }
  constexpr int64_t kFarApart = 1'000'000'000;  // clocks that are set by a network differ by less
  if (!by_system_clock) return {};
  Alignment by;
  by.offset_ns = *by_system_clock;
  const int64_t apart = std::max(difference(by.to_reference(other.first), reference.last),
                                 difference(reference.first, by.to_reference(other.last)));
  if (apart < kFarApart) return {};
  return base::format("by the system clocks, there are {} between them",
                      base::duration_text(static_cast<uint64_t>(apart)));
}

// Aligns a trace with one other trace.
Rank align_with(const Side& reference, const Side& other, const std::string& mark) {
  Rank rank;
  if (other.has_boot_of(reference)) {
    rank.by = AlignedBy::SameBoot;
    rank.alignment.error_ns = largest_error(other.reader);
    return rank;
  }
  const int64_t by_system_clock =
      difference(other.realtime.value_or(0), reference.realtime.value_or(other.realtime.value_or(0)));
  const auto measured = by_measurement(reference, other, by_system_clock);
  std::optional<int64_t> known;
  if (reference.has_date() && other.has_date()) known = measured ? measured->offset_ns : by_system_clock;
  const Matching matching = match_events(reference.events, other.events, known);
  const std::string what = mark.empty() ? "collectives" : "events of this name";
  // Of a mark, the user says that it is the same.
  const std::string run = mark.empty() ? other_run(reference, other, known, matching.is_proven) : std::string();
  if (matching.moments.size() < kFewestMoments) {
    rank.reason = base::format("it shares fewer than {} {} with the first trace", kFewestMoments, what);
  } else if (!run.empty()) {
    rank.reason = base::format("the times of its {} do not show that it is of the same run, and {}", what, run);
  } else if (!matching.fits) {
    rank.reason = base::format(
        "its {} are not at the times of those of the first trace, for any clock that drifts by at most {:.0f} ppm",
        what, kMostDrift * 1e6);
  } else if (!matching.is_bounded && (mark.empty() || matching.ways > 1)) {
    rank.reason = matching.ways > 1
                      ? base::format("its {} are so regular that they match in {} ways", what, matching.ways)
                      : base::format("its {} are too few to tell which of the first trace they are", what);
  } else {
    rank.by = mark.empty() ? AlignedBy::Collectives : AlignedBy::Marks;
    rank.ways = matching.ways;
    rank.alignment = align(matching.moments, other.first, other.last);
    // Also right if events are missing between the first and the last.
    std::vector<SharedMoment> moments;
    for (const auto& [a, b] : pair_events(reference.events, other.events, rank.alignment))
      moments.push_back({reference.events[a].end, other.events[b].end});
    if (moments.size() >= kFewestMoments) rank.alignment = align(std::move(moments), other.first, other.last);
    rank.alignment.error_ns += matching.reach_ns;
  }
  if (measured && (!rank.reason.empty() || measured->error_ns < rank.alignment.error_ns)) {
    rank = Rank{};
    rank.by = AlignedBy::Measured;
    rank.alignment = *measured;
  } else if (!rank.reason.empty()) {
    rank.by = AlignedBy::SystemClock;
    rank.alignment.offset_ns = by_system_clock;
    rank.alignment.error_ns = kUnknownError;
    return rank;
  }
  if (reference.realtime && other.realtime)
    rank.system_clock_offset_ns = difference(rank.alignment.offset_ns, by_system_clock);
  return rank;
}

// Who came last at the events that all traces have whose clock is certain.
void find_stragglers(const std::deque<Side>& sides, std::vector<Rank>& ranks) {
  const SharedEvents& reference = sides.front().events;
  std::vector<std::vector<std::pair<size_t, int64_t>>> begins(reference.size());  // rank and begin
  size_t certain = 1;
  for (size_t i = 0; i < reference.size(); ++i) begins[i].emplace_back(0, reference[i].begin);
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    if (!ranks[rank].is_certain()) continue;
    ++certain;
    const Alignment& alignment = ranks[rank].alignment;
    for (const auto& [at, own] : pair_events(reference, sides[rank].events, alignment))
      begins[at].emplace_back(rank, alignment.to_reference(sides[rank].events[own].begin));
  }
  for (const auto& all : begins) {
    if (all.size() != certain || certain < 2) continue;
    const auto [last, time] =
        *std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    ++ranks[last].last_at;
    for (const auto& [rank, begin] : all) {
      ++ranks[rank].collectives;
      const auto waited = static_cast<uint64_t>(difference(time, begin));
      ranks[rank].waited_ns += waited;
      ranks[last].others_waited_ns += waited;
    }
  }
}

// The ticks of the first and last event of a clock.
struct Extent {
  uint64_t first_ticks = 0, last_ticks = 0;
  int64_t first = INT64_MAX, last = INT64_MIN;

  void add(const trace::ClockMap& clock, uint64_t ticks) {
    const int64_t time = clock.to_monotonic_ns(ticks);
    if (time < first) std::tie(first, first_ticks) = std::pair(time, ticks);
    if (time > last) std::tie(last, last_ticks) = std::pair(time, ticks);
  }
};

using ClockKey = std::pair<trace::WriterId, uint32_t>;

std::map<ClockKey, Extent> extents_of(const trace::Reader& reader) {
  std::map<ClockKey, Extent> extents;
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const auto writer = reader.writers().find(chunk.writer);
    if (writer == reader.writers().end()) continue;
    const auto* const clock = clocks.try_emplace(chunk.writer, writer->second).first->second.find(chunk.track);
    if (clock == nullptr) continue;
    Extent& extent = extents[{chunk.writer, writer->second.tracks.at(chunk.track).clock}];
    extent.add(*clock, chunk.first);
    extent.add(*clock, chunk.last);
    if (writer->second.ending && writer->second.ending->alive_until != 0 &&
        writer->second.tracks.at(chunk.track).clock == trace::kHostClock)
      extent.add(*clock, writer->second.ending->alive_until);
  }
  return extents;
}

// The pairs of a clock, converted: at its first and last event, and those between. A pair far from the events would
// have the drift of a long time. Their monotonic time may be negative.
std::vector<trace::ClockPair> moved_pairs(trace::ClockDomain& clock, const Extent& extent, const Rank& rank) {
  const trace::ClockMap map = trace::clock_map(clock);
  std::vector<trace::ClockPair> pairs;
  const auto add = [&](uint64_t ticks, int64_t time) {
    trace::ClockPair& pair = pairs.emplace_back(clock.pairs.front());
    pair.ticks = ticks;
    pair.monotonic_ns = static_cast<uint64_t>(rank.alignment.to_reference(time));
    pair.error_ns = map.error_ns() + rank.alignment.error_ns;
  };
  add(extent.first_ticks, extent.first);
  for (const trace::ClockPair& pair : clock.pairs)
    if (const auto time = static_cast<int64_t>(pair.monotonic_ns); time > extent.first && time < extent.last)
      add(pair.ticks, time);
  if (extent.last > extent.first) add(extent.last_ticks, extent.last);
  if (clock.period_numerator == 0) {  // lengths keep the rate that they had
    constexpr uint64_t kTicks = 1'000'000'000'000;
    clock.period_numerator = base::round_ns(map.to_ns(kTicks));
    clock.period_denominator = kTicks;
  }
  return pairs;
}

bool is_moved(const Rank& rank) { return rank.by != AlignedBy::Reference && rank.by != AlignedBy::SameBoot; }

using Clocks = std::map<ClockKey, trace::ClockDomain>;

Clocks moved_clocks(const trace::Reader& reader, const Rank& rank) {
  Clocks clocks;
  const std::map<ClockKey, Extent> extents = extents_of(reader);
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [clock_id, original] : writer.clocks) {
      trace::ClockDomain& clock = clocks[{id, clock_id}] = original;
      if (!is_moved(rank)) continue;
      const auto extent = extents.find({id, clock_id});
      if (extent != extents.end()) {
        clock.pairs = moved_pairs(clock, extent->second, rank);
        continue;
      }
      for (trace::ClockPair& pair : clock.pairs)  // no event needs it
        pair.monotonic_ns = static_cast<uint64_t>(
            std::max<int64_t>(sum(static_cast<int64_t>(pair.monotonic_ns), rank.alignment.offset_ns), 0));
    }
  return clocks;
}

}  // namespace

std::vector<Rank> align_ranks(const std::vector<trace::Reader>& readers, const MergeOptions& options) {
  std::vector<Rank> ranks(readers.size());
  Kinds kinds;
  std::deque<Side> sides;
  for (const trace::Reader& reader : readers) sides.emplace_back(reader, options.mark, kinds);
  const auto by_system_clock = [&](size_t a, size_t b) {
    return difference(sides[b].realtime.value_or(0), sides[a].realtime.value_or(0));
  };
  const auto align_through = [&](size_t through, size_t i) {
    Rank rank = align_with(sides[through], sides[i], options.mark);
    if (through == 0) return rank;
    rank.alignment = rank.alignment.then(ranks[through].alignment);
    if (rank.by == AlignedBy::SameBoot) {  // its clock is that of the other
      rank.by = ranks[through].by;
      rank.alignment.moments = ranks[through].alignment.moments;
    }
    rank.through = through;
    if (sides[0].realtime && sides[i].realtime)
      rank.system_clock_offset_ns = difference(rank.alignment.offset_ns, by_system_clock(0, i));
    return rank;
  };
  for (size_t i = 1; i < ranks.size(); ++i) {
    size_t same = 1;
    while (same < i && !(ranks[same].is_certain() && sides[i].has_boot_of(sides[same]))) ++same;
    ranks[i] = align_through(same < i && !sides[i].has_boot_of(sides[0]) ? same : 0, i);
  }
  // A rank may share more with another one than with the first.
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (size_t i = 1; i < ranks.size(); ++i)
      for (size_t through = 1; through < ranks.size() && !ranks[i].is_certain(); ++through) {
        if (!ranks[through].is_certain()) continue;
        if (Rank rank = align_through(through, i); rank.is_certain()) {
          ranks[i] = std::move(rank);
          is_new = true;
        }
      }
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].path = readers[i].path();
    for (size_t other = 0; other < i && !ranks[i].twin; ++other) {
      const Side &a = sides[other], &b = sides[i];
      if ((a.rank && a.rank == b.rank) || (!a.events.empty() && a.events == b.events)) ranks[i].twin = other;
    }
  }
  if (!ranks.empty()) find_stragglers(sides, ranks);
  return ranks;
}

void write_merged(const std::vector<trace::Reader>& readers, const std::vector<Rank>& ranks, const std::string& path,
                  const std::string& name) {
  trace::Writer writer(path, trace::Writer::Mode::Append, name);
  const int64_t realtime = readers.empty() ? 0 : realtime_offset(readers.front()).value_or(0);
  std::vector<Clocks> clocks;
  int64_t earliest = INT64_MAX;
  for (size_t i = 0; i < readers.size(); ++i) {
    clocks.push_back(moved_clocks(readers[i], ranks[i]));
    for (const auto& [key, clock] : clocks.back())
      for (const trace::ClockPair& pair : clock.pairs)
        earliest = std::min(earliest, static_cast<int64_t>(pair.monotonic_ns));
  }
  // A clock may have begun before the reference clock's zero. Times are not negative, so all are moved ahead.
  const int64_t ahead = std::max<int64_t>(0, difference(0, earliest)),
                realtime_ahead = sum(realtime, std::max<int64_t>(0, difference(0, sum(realtime, earliest))));
  const auto later = [](int64_t time, int64_t by) {
    return static_cast<uint64_t>(std::max<int64_t>(0, sum(time, by)));
  };
  for (size_t i = 0; i < readers.size(); ++i)
    convert::copy_trace(readers[i], writer, [&](trace::WriterInfo& info) {
      if (is_moved(ranks[i])) trace::add_alignment_error(info.origin, ranks[i].alignment.error_ns);
      for (auto& [id, clock] : info.clocks) {
        clock = clocks[i].at({info.id, id});
        for (trace::ClockPair& pair : clock.pairs) {
          const auto moved = static_cast<int64_t>(pair.monotonic_ns);
          pair.monotonic_ns = later(moved, ahead);
          pair.realtime_ns = later(moved, realtime_ahead);
        }
      }
    });
  writer.close();
}

}  // namespace kymo::analyze
