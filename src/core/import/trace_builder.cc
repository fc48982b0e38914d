#include "import/trace_builder.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/version.h"
#include "import/chunk_queue.h"
#include "import/class_numbers.h"
#include "import/track_writer.h"
#include "trace/random_id.h"

namespace kymo::import {
namespace {

constexpr size_t kRecordsPerBlock = 8192;
constexpr size_t kBytesPerBlock = 1 << 20;
constexpr int64_t kLatestBase = std::numeric_limits<int64_t>::max() / 4;

}  // namespace

// What all processes share.
struct TraceBuilder::Output {
  trace::Writer& writer;
  int64_t realtime_base_ns = 0;
  int64_t shift = 0;  // ticks are times plus this, because ticks are not negative
  ClassNumbers classes;
  uint64_t ends_without_begin = 0;
  std::optional<trace::WriterId> first;
};

uint32_t TraceBuilder::add_process(ImportedProcess process) {
  processes_.push_back(std::move(process));
  return static_cast<uint32_t>(processes_.size() - 1);
}

uint32_t TraceBuilder::add_track(ImportedTrack track) {
  tracks_.push_back(std::move(track));
  events_.emplace_back();
  return static_cast<uint32_t>(tracks_.size() - 1);
}

EventBlock& TraceBuilder::last_block(uint32_t track) {
  std::vector<EventBlock>& blocks = events_[track];
  if (blocks.empty() || blocks.back().tables != &tables_[0] || blocks.back().records.size() >= kRecordsPerBlock ||
      blocks.back().bytes.size() >= kBytesPerBlock) {
    if (!blocks.empty()) {
      blocks.back().check_order();
      blocks.back().bytes.shrink_to_fit();
    }
    blocks.emplace_back().tables = &tables_[0];
  }
  return blocks.back();
}

void TraceBuilder::lose(trace::LossCause cause, std::string detail, uint64_t count) {
  if (count == 0) return;
  losses_[{cause, std::move(detail)}] += count;
  lost_count_ += count;
}

// Returns the earliest time, if it is negative.
int64_t TraceBuilder::count_events() {
  int64_t earliest = 0;
  uint64_t reversed = 0, beyond = 0;
  for (const std::vector<EventBlock>& blocks : events_) {
    for (const EventBlock& block : blocks) {
      event_count_ += block.events;
      reversed += block.reversed;
      beyond += block.beyond;
      earliest = std::min(earliest, block.earliest);
    }
  }
  lose(kReversed, reversed);
  lose("times that are more than 73 years away; the nearest possible time is used", beyond);
  return earliest;
}

void TraceBuilder::write(trace::Writer& writer, int64_t realtime_base_ns, const std::string& source) {
  Output output{writer, std::clamp(realtime_base_ns, -kLatestBase, kLatestBase), -count_events(), {}, 0, {}};
  if (processes_.empty()) add_process({});
  merge_lanes();
  for (uint32_t process = 0; process < processes_.size(); ++process) write_process(output, process, source);
  lose("ends of ranges that did not begin", output.ends_without_begin);
  if (losses_.empty()) return;
  std::vector<trace::Loss> losses;
  for (const auto& [loss, count] : losses_) losses.push_back({loss.first, 0, count, 0, 0, loss.second});
  writer.losses(*output.first, losses);
}

// Gives the ranges of lanes to the tracks that they are lanes of.
void TraceBuilder::merge_lanes() {
  for (uint32_t track = 0; track < tracks_.size(); ++track) {
    const std::optional<uint32_t> of = tracks_[track].lane_of;
    if (!of || *of == track || tracks_[*of].lane_of) continue;
    TrackRecords lane(std::exchange(events_[track], {}));
    lose("ends of ranges that did not begin", lane.pair_ends());
    for (EventBlock& block : lane.take_blocks()) {
      for (ImportedRecord& record : block.records)
        if (record.kind == ImportedRecord::Kind::Range) record.point = tracks_[track].lane;
      events_[*of].push_back(std::move(block));
    }
  }
}

void TraceBuilder::write_process(Output& output, uint32_t number, const std::string& source) {
  std::vector<uint32_t> own;
  for (uint32_t track = 0; track < tracks_.size(); ++track)
    if (tracks_[track].process == number && !events_[track].empty()) own.push_back(track);
  if (own.empty() && number != 0) return;

  trace::Writer& writer = output.writer;
  const ImportedProcess& process = processes_[number];
  const trace::WriterId id = trace::random_writer_id();
  if (!output.first) output.first = id;
  trace::Origin origin;
  origin.session = id.hex();
  origin.pid = process.pid;
  origin.host = process.host;
  origin.executable = process.name;
  origin.start_realtime_ns = static_cast<uint64_t>(std::max<int64_t>(output.realtime_base_ns, 0));
  origin.kymo_version = base::kVersion;
  origin.metadata.emplace_back("imported from", source);
  for (const auto& one : process.metadata) origin.metadata.push_back(one);
  writer.origin(id, origin);

  // One clock for all tracks. The times of the file are taken as they are.
  trace::ClockDomain clock;
  clock.id = TrackWriter::kClock;
  const uint64_t zero = static_cast<uint64_t>(std::max<int64_t>(output.realtime_base_ns - output.shift, 0));
  clock.pairs = {{0, 0, zero, 0}, {1'000'000'000, 1'000'000'000, zero + 1'000'000'000, 0}};
  writer.clock(id, clock);

  std::vector<trace::Track> tracks;
  for (const uint32_t at : own) {
    const ImportedTrack& from = tracks_[at];
    trace::Track& track = tracks.emplace_back();
    track.id = at + 1;
    track.kind = from.kind;
    track.clock = TrackWriter::kClock;
    track.tid = from.tid;
    track.name = from.name;
    track.device_uuid = from.device;
    track.context = from.context;
    track.queue = from.queue;
  }
  constexpr size_t kPerChunk = 512;
  for (size_t at = 0; at < tracks.size(); at += kPerChunk)
    writer.tracks(id, std::span(tracks).subspan(at, std::min(kPerChunk, tracks.size() - at)));

  stacks_.write(writer, id, own);
  ChunkQueue queue(writer);
  TrackWriter::Target target{queue, id, number + 1, output.classes, output.shift, {}};
  for (const uint32_t at : own) {
    TrackRecords records(std::exchange(events_[at], {}));
    output.ends_without_begin += records.pair_ends();
    records.sort();
    TrackWriter(target, at + 1).write(records);
  }
  queue.finish();
}

}  // namespace kymo::import
