#include "analyze/merge/merge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "convert/copy.h"
#include "trace/clock.h"
#include "trace/writer.h"

namespace kymo::analyze {

namespace {

// The shared events of a rank: collectives on a device, or ranges and instants of one name.
struct SharedEvent {
  int64_t begin = 0, end = 0;
};

// By name, in order of time.
using SharedEvents = std::map<std::string, std::vector<SharedEvent>>;

// `mark` empty: the collectives of NCCL and RCCL.
SharedEvents shared_events(EventWalk& walk, const std::string& mark);

constexpr size_t kMostEvents = 4 << 20;

SharedEvents shared_events(EventWalk& walk, const std::string& mark) {
  // The classes that count, by writer.
  std::map<uint32_t, std::map<uint32_t, std::string>> wanted;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (wanted.count(track.writer_number) != 0) continue;
    auto& classes = wanted[track.writer_number];
    for (const auto& [id, event_class] : track.writer->classes) {
      const bool counts = mark.empty() ? work_kind(event_class.category, event_class.name) == WorkKind::Communication
                                       : trace::shown_name(event_class) == mark;
      if (counts) classes.emplace(id, event_class.name);
    }
  }
  SharedEvents events;
  size_t count = 0;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kPoints,
      [&](const TrackOfTrace& track) {
        return !wanted[track.writer_number].empty() && (track.on_device || !mark.empty());
      },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const auto& classes = wanted[track.writer_number];
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          const auto known = classes.find(batch.ranges.class_id[i]);
          if (known == classes.end() || ++count > kMostEvents) continue;
          events[known->second].push_back(
              {track.ns(batch.ranges.end[i] - batch.ranges.duration[i]), track.ns(batch.ranges.end[i])});
        }
        for (size_t i = 0; i < batch.points.size() && !mark.empty(); ++i) {
          const auto known = classes.find(batch.points.class_id[i]);
          if (known == classes.end() || ++count > kMostEvents) continue;
          const int64_t time = track.ns(batch.points.time[i]);
          events[known->second].push_back({time, time});
        }
      });
  for (auto& [name, list] : events)
    std::sort(list.begin(), list.end(), [](const SharedEvent& a, const SharedEvent& b) { return a.end < b.end; });
  return events;
}

// With fewer shared events, they match in several ways, and nothing says how wrong the result is.
constexpr size_t kFewestMoments = 4;

// CLOCK_REALTIME minus CLOCK_MONOTONIC of a trace, from its first clock pair.
std::optional<int64_t> realtime_offset(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [clock_id, clock] : writer.clocks)
      if (!clock.pairs.empty())
        return static_cast<int64_t>(clock.pairs.front().realtime_ns - clock.pairs.front().monotonic_ns);
  return std::nullopt;
}

std::set<std::string> boots(const trace::Reader& reader) {
  std::set<std::string> all;
  for (const auto& [id, writer] : reader.writers()) all.insert(writer.origin.boot_id);
  return all;
}

uint64_t largest_error(const trace::Reader& reader) {
  uint64_t error = 0;
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [clock_id, clock] : writer.clocks)
      for (const trace::ClockPair& pair : clock.pairs) error = std::max(error, pair.error_ns);
  return error;
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

// From two clocks that were measured against the same third one.
std::optional<Alignment> by_measurement(const trace::Reader& reference, const trace::Reader& other,
                                        int64_t by_system_clock) {
  const auto first = measured_clock(reference), second = measured_clock(other);
  if (!first || !second || first->reference != second->reference) return {};
  Alignment alignment;
  alignment.offset_ns = by_system_clock - second->offset_ns + first->offset_ns;
  alignment.error_ns = first->error_ns + second->error_ns + largest_error(reference);
  return alignment;
}

std::vector<int64_t> ends_of(const std::vector<SharedEvent>& events, int64_t shift) {
  std::vector<int64_t> ends;
  for (const SharedEvent& one : events) ends.push_back(one.end + shift);
  return ends;
}

// Collectives of two traces that are the same ones. Times of `other` are given with `shift`.
std::vector<SharedMoment> shared_moments(const SharedEvents& reference, const SharedEvents& other, int64_t shift) {
  std::vector<SharedMoment> moments;
  for (const auto& [name, events] : other) {
    const auto same = reference.find(name);
    if (same == reference.end()) continue;
    for (SharedMoment one : matched(ends_of(same->second, 0), ends_of(events, shift))) {
      one.other -= shift;
      moments.push_back(one);
    }
  }
  return moments;
}

// Which event of each rank belongs to an event of the reference, and who came last.
void find_stragglers(const std::vector<SharedEvents>& events, std::vector<Rank>& ranks) {
  for (const auto& [name, reference] : events.front()) {
    std::vector<std::vector<int64_t>> begins(reference.size());  // by event of the reference, in the order of ranks
    for (size_t i = 0; i < reference.size(); ++i) begins[i].push_back(reference[i].begin);
    for (size_t rank = 1; rank < ranks.size(); ++rank) {
      const auto own = events[rank].find(name);
      if (own == events[rank].end()) continue;
      std::vector<int64_t> times;
      for (const SharedEvent& one : own->second) times.push_back(ranks[rank].alignment.to_reference(one.end));
      // The closest event of the reference: the clocks are aligned now.
      for (size_t i = 0; i < times.size(); ++i) {
        const auto after = std::partition_point(reference.begin(), reference.end(),
                                                [&](const SharedEvent& one) { return one.end < times[i]; });
        size_t at = static_cast<size_t>(after - reference.begin());
        if (at == reference.size() || (at > 0 && times[i] - reference[at - 1].end < reference[at].end - times[i])) --at;
        if (begins[at].size() == rank) begins[at].push_back(ranks[rank].alignment.to_reference(own->second[i].begin));
      }
      for (std::vector<int64_t>& one : begins)
        if (one.size() == rank) one.push_back(INT64_MIN);  // it is not in this trace
    }
    for (const std::vector<int64_t>& one : begins) {
      if (one.size() != ranks.size() || std::count(one.begin(), one.end(), INT64_MIN) != 0 || one.size() < 2) continue;
      const auto last = static_cast<size_t>(std::max_element(one.begin(), one.end()) - one.begin());
      ++ranks[last].last_at;
      for (size_t rank = 0; rank < one.size(); ++rank) {
        ++ranks[rank].collectives;
        const auto waited = static_cast<uint64_t>(one[last] - one[rank]);
        ranks[rank].waited_ns += waited;
        ranks[last].others_waited_ns += waited;
      }
    }
  }
}

// The clocks of a trace on the reference clock.
void move_clocks(trace::WriterInfo& info, const Rank& rank, int64_t reference_realtime_offset, int64_t ahead,
                 int64_t last_ns) {
  const bool is_moved = rank.by != AlignedBy::Reference && rank.by != AlignedBy::SameBoot;
  if (is_moved) trace::add_alignment_error(info.origin, rank.alignment.error_ns);
  for (auto& [id, clock] : info.clocks) {
    if (rank.alignment.drift != 0 && !clock.pairs.empty()) {
      // One more pair at the end of the trace: after the last pair, a clock has its own rate, without the drift.
      const trace::ClockMap map = trace::clock_map(clock);
      trace::ClockPair last = clock.pairs.back();
      const double left = static_cast<double>(last_ns - static_cast<int64_t>(last.monotonic_ns));
      const double per_tick = map.to_ns(1);
      if (left > 0 && per_tick > 0) {
        last.ticks += static_cast<uint64_t>(left / per_tick) + 1;
        last.monotonic_ns = static_cast<uint64_t>(map.to_monotonic_ns(last.ticks));
        clock.pairs.push_back(last);
      }
    }
    for (trace::ClockPair& pair : clock.pairs) {
      const int64_t moved = rank.alignment.to_reference(static_cast<int64_t>(pair.monotonic_ns));
      pair.monotonic_ns = static_cast<uint64_t>(moved + ahead);
      pair.realtime_ns = static_cast<uint64_t>(std::max<int64_t>(moved + reference_realtime_offset, 0));
      if (is_moved) pair.error_ns += rank.alignment.error_ns;
    }
  }
}

// A clock may have begun before the reference clock's zero. Times are not negative, so all are moved ahead.
int64_t needed_ahead(const std::vector<trace::Reader>& readers, const std::vector<Rank>& ranks) {
  int64_t earliest = 0;
  for (size_t i = 0; i < readers.size(); ++i)
    for (const auto& [id, writer] : readers[i].writers())
      for (const auto& [clock_id, clock] : writer.clocks)
        for (const trace::ClockPair& pair : clock.pairs)
          earliest = std::min(earliest, ranks[i].alignment.to_reference(static_cast<int64_t>(pair.monotonic_ns)));
  return -earliest;
}

}  // namespace

std::vector<Rank> align_ranks(const std::vector<trace::Reader>& readers, const MergeOptions& options) {
  std::vector<Rank> ranks(readers.size());
  std::vector<SharedEvents> events;
  for (size_t i = 0; i < readers.size(); ++i) {
    ranks[i].path = readers[i].path();
    EventWalk walk(readers[i]);
    events.push_back(shared_events(walk, options.mark));
  }
  if (readers.empty()) return ranks;
  const int64_t reference_offset = realtime_offset(readers.front()).value_or(0);
  const std::set<std::string> reference_boots = boots(readers.front());
  for (size_t i = 1; i < readers.size(); ++i) {
    Rank& rank = ranks[i];
    const std::set<std::string> own = boots(readers[i]);
    if (own == reference_boots && own.size() == 1 && !own.begin()->empty()) {
      rank.by = AlignedBy::SameBoot;
      rank.alignment.error_ns = largest_error(readers[i]);
      continue;
    }
    const int64_t by_system_clock = realtime_offset(readers[i]).value_or(reference_offset) - reference_offset;
    const std::vector<SharedMoment> moments = shared_moments(events.front(), events[i], by_system_clock);
    const auto measured = by_measurement(readers.front(), readers[i], by_system_clock);
    rank.by = options.mark.empty() ? AlignedBy::Collectives : AlignedBy::Marks;
    if (moments.size() >= kFewestMoments) rank.alignment = align(moments);
    if (measured && (moments.size() < kFewestMoments || measured->error_ns < rank.alignment.error_ns)) {
      rank.by = AlignedBy::Measured;
      rank.alignment = *measured;
    } else if (moments.size() < kFewestMoments) {
      rank.by = AlignedBy::SystemClock;
      rank.alignment.offset_ns = by_system_clock;
      rank.alignment.error_ns = kUnknownError;
      continue;
    }
    if (realtime_offset(readers.front()) && realtime_offset(readers[i]))
      rank.system_clock_offset_ns = rank.alignment.offset_ns - by_system_clock;
  }
  find_stragglers(events, ranks);
  return ranks;
}

void write_merged(const std::vector<trace::Reader>& readers, const std::vector<Rank>& ranks, const std::string& path) {
  trace::Writer writer(path, trace::Writer::Mode::Append);
  const int64_t reference_offset = readers.empty() ? 0 : realtime_offset(readers.front()).value_or(0);
  const int64_t ahead = needed_ahead(readers, ranks);
  for (size_t i = 0; i < readers.size(); ++i) {
    const EventWalk walk(readers[i]);
    convert::copy_trace(readers[i], writer, [&](trace::WriterInfo& info) {
      move_clocks(info, ranks[i], reference_offset, ahead, walk.last_ns());
    });
  }
  writer.close();
}

}  // namespace kymo::analyze
