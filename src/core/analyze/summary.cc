#include "analyze/summary.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "analyze/decode_ahead.h"
#include "analyze/losses.h"
#include "kymo/error.h"
#include "trace/clock.h"

namespace kymo::analyze {

namespace {

constexpr double kPicosecondsPerNanosecond = 1000;

// The earliest and the latest time that was added.
struct Span {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  void include(int64_t from, int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
  bool is_empty() const { return first > last; }
  uint64_t length() const { return is_empty() ? 0 : static_cast<uint64_t>(last) - static_cast<uint64_t>(first); }
};

// One writer, with everything that the chunk headers add to it.
class ProcessBuilder {
 public:
  explicit ProcessBuilder(const trace::WriterInfo& writer) : writer_(writer) {
    for (const auto& [id, domain] : writer.clocks) clocks_.emplace(id, trace::clock_map(domain));
    for (const auto& [id, track] : writer.tracks) {
      TrackSummary& summary = tracks_[id].summary;
      summary.id = id;
      summary.kind = track.kind;
      summary.tid = track.tid;
      summary.name = track.name;
      summary.device_uuid = track.device_uuid;
      summary.device_name = track.device_name;
      summary.context = track.context;
      summary.queue = track.queue;
      summary.clock = track.clock;
    }
  }

  void add(const trace::EventChunk& chunk) {
    TrackPart& part = tracks_[chunk.track];
    part.summary.id = chunk.track;
    part.summary.ranges += chunk.range_count;
    part.summary.points += chunk.point_count;
    part.summary.bytes += chunk.length;
    ++part.summary.chunks;
    part.last_chunk = &chunk;
    const trace::ClockMap* const clock = clock_of(chunk.track);
    // A chunk without events has times if ranges begin in it that never end.
    if (clock == nullptr || (chunk.range_count + chunk.point_count == 0 && chunk.last == 0)) return;
    part.realtime.include(clock->to_realtime_ns(chunk.first), clock->to_realtime_ns(chunk.last));
    part.monotonic.include(clock->to_monotonic_ns(chunk.first), clock->to_monotonic_ns(chunk.last));
  }

  ProcessSummary finish(Span& realtime, Span& monotonic) {
    ProcessSummary process;
    process.writer = writer_.id;
    process.origin = writer_.origin;
    process.window = writer_.window;
    for (auto& [id, part] : tracks_) {
      TrackSummary& track = part.summary;
      if (!part.realtime.is_empty()) {
        track.first_realtime_ns = part.realtime.first;
        track.last_realtime_ns = part.realtime.last;
        realtime.include(part.realtime.first, part.realtime.last);
        monotonic.include(part.monotonic.first, part.monotonic.last);
      }
      if (const auto cost = writer_.costs.find(id); cost != writer_.costs.end()) {
        track.cost_ns =
            static_cast<uint64_t>(static_cast<double>(cost->second.events) *
                                  static_cast<double>(cost->second.picoseconds_per_event) / kPicosecondsPerNanosecond);
        track.blocked_ns = cost->second.blocked_ns;
        const bool on_host = track.kind != trace::TrackKind::DeviceQueue;
        if (const uint64_t span = part.monotonic.length(); span != 0 && on_host) {
          track.distortion = static_cast<double>(track.cost_ns + track.blocked_ns) / static_cast<double>(span);
        }
      }
      process.ranges += track.ranges;
      process.points += track.points;
      process.cost_ns += track.cost_ns;
      process.blocked_ns += track.blocked_ns;
      process.tracks.push_back(std::move(track));
    }
    for (const auto& [id, cost] : writer_.costs) process.collector_cpu_ns += cost.collector_cpu_ns;
    for (const auto& [id, domain] : writer_.clocks) {
      const trace::ClockMap& map = clocks_.at(id);
      process.clocks.push_back({id, domain.kind, domain.pairs.size(), map.error_ns(), map.usable()});
    }
    return process;
  }

  // Adds the ranges that are open after the last chunk of each track. The head of that chunk lists them.
  void add_open(const trace::Reader& reader) {
    constexpr size_t kMostNames = 20;
    trace::EventBatch batch;
    for (auto& [id, part] : tracks_) {
      if (part.last_chunk == nullptr) continue;
      try {
        reader.read(*part.last_chunk, batch, trace::kOpenStacks);
      } catch (const Error&) {
        continue;  // the error is reported when its events are read
      }
      const std::vector<trace::OpenRange>& open = batch.closing;
      part.summary.open_count = open.size();
      for (size_t i = open.size() - std::min(open.size(), kMostNames); i < open.size(); ++i)
        part.summary.open.push_back(name_of(open[i]));
    }
  }

  void add_losses(std::vector<LossSummary>& into) const {
    for (const trace::Loss& loss : writer_.losses) {
      LossSummary summary{.cause = loss.cause,
                          .pid = writer_.origin.pid,
                          .track = {},
                          .track_kind = trace::TrackKind::Thread,
                          .tracks = 1,
                          .count = loss.count,
                          .first_realtime_ns = 0,
                          .last_realtime_ns = 0,
                          .detail = loss.detail};
      if (const auto track = writer_.tracks.find(loss.track); track != writer_.tracks.end()) {
        summary.track = track->second.name;
        summary.track_kind = track->second.kind;
      }
      if (const trace::ClockMap* const clock = clock_of(loss.track); clock != nullptr && loss.last != 0) {
        summary.first_realtime_ns = clock->to_realtime_ns(loss.first);
        summary.last_realtime_ns = clock->to_realtime_ns(loss.last);
      }
      into.push_back(std::move(summary));
    }
  }

 private:
  struct TrackPart {
    TrackSummary summary;
    const trace::EventChunk* last_chunk = nullptr;
    Span realtime, monotonic;
  };

  std::string name_of(const trace::OpenRange& range) const {
    const trace::EventClass* const event_class = writer_.find_class(range.class_id);
    const trace::Values values{range.ints, range.doubles, range.text};
    return trace::full_name(event_class, trace::ValueCursor(values).next(event_class));
  }

  // Null if the track is unknown or its clock cannot be converted.
  const trace::ClockMap* clock_of(uint32_t track_id) const {
    const auto track = writer_.tracks.find(track_id);
    if (track == writer_.tracks.end()) return nullptr;
    const auto clock = clocks_.find(track->second.clock);
    return clock == clocks_.end() || !clock->second.usable() ? nullptr : &clock->second;
  }

  const trace::WriterInfo& writer_;
  std::map<uint32_t, trace::ClockMap> clocks_;
  std::map<uint32_t, TrackPart> tracks_;
};

bool on_one_boot(const trace::Reader& reader) {
  const auto& writers = reader.writers();
  return std::all_of(writers.begin(), writers.end(), [&](const auto& writer) {
    return writer.second.origin.boot_id == writers.begin()->second.origin.boot_id;
  });
}

}  // namespace

Summary summarise(const trace::Reader& reader) {
  Summary summary;
  summary.path = reader.path();
  summary.file_size = reader.file_size();
  summary.torn_bytes = reader.file_size() - std::min(reader.file_size(), reader.trace_size());
  summary.indexed = reader.indexed();
  summary.problems = reader.problems();

  std::map<trace::WriterId, ProcessBuilder> builders;
  for (const auto& [id, writer] : reader.writers()) builders.emplace(id, ProcessBuilder(writer));
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    summary.ranges += chunk.range_count;
    summary.points += chunk.point_count;
    ++summary.chunks;
    if (const auto builder = builders.find(chunk.writer); builder != builders.end()) builder->second.add(chunk);
  }

  Span realtime, monotonic;
  for (auto& [id, builder] : builders) {
    builder.add_open(reader);
    summary.processes.push_back(builder.finish(realtime, monotonic));
    builder.add_losses(summary.losses);
  }
  if (!reader.is_being_written()) {
    for (const auto& [id, writer] : reader.writers())
      if (writer.lacks_ending())
        summary.missing.push_back({writer.origin.pid, writer.origin.executable, reader.unrecovered()});
    if (reader.has_unended_session()) summary.missing.push_back({});
  }
  if (!realtime.is_empty()) summary.begin_realtime_ns = realtime.first;
  // On one machine the monotonic clock gives the duration, because nobody sets it. Between machines only the wall clock
  // can.
  summary.duration_ns = (on_one_boot(reader) ? monotonic : realtime).length();
  if (summary.events() != 0) {
    summary.bytes_per_event = static_cast<double>(reader.trace_size()) / static_cast<double>(summary.events());
  }
  for (const LossSummary& loss : summary.losses) summary.lost += loss.count;

  std::stable_sort(summary.processes.begin(), summary.processes.end(), [](const auto& a, const auto& b) {
    return a.origin.start_realtime_ns < b.origin.start_realtime_ns;
  });
  summary.losses = group_losses(summary.losses, LossGroups::ByTrack);
  return summary;
}

std::vector<trace::Problem> all_problems(const trace::Reader& reader) {
  std::vector<trace::Problem> problems = reader.problems();
  DecodeAhead chunks(reader.event_chunks(), [&](const auto& chunk, auto& into) { reader.read(chunk, into); });
  while (const DecodeAhead::Item* const item = chunks.next())
    if (!item->error.empty()) problems.push_back({item->chunk->offset, item->chunk->length, item->error});
  return problems;
}

std::string_view clock_kind_text(trace::ClockKind kind) {
  switch (kind) {
    case trace::ClockKind::Monotonic:
      return "monotonic";
    case trace::ClockKind::Tsc:
      return "TSC";
    case trace::ClockKind::ArmCounter:
      return "ARM counter";
    case trace::ClockKind::Device:
      return "device";
  }
  return "unknown";
}

}  // namespace kymo::analyze
