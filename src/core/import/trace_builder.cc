#include "import/trace_builder.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/version.h"
#include "import/chunk_queue.h"
#include "import/event_tables.h"
#include "import/track_writer.h"
#include "trace/model.h"

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

namespace {

constexpr size_t kLongestFrameText = 4096;
constexpr size_t kStacksPerChunk = 512;

}  // namespace

uint32_t ImportedStacks::module(std::string_view path) {
  if (path.empty()) return 0;
  const auto [known, is_new] = module_ids_.try_emplace(std::string(path.substr(0, kLongestFrameText)),
                                                       static_cast<uint32_t>(modules_.size() + 1));
  if (is_new) {
    trace::Module& made = modules_.emplace_back();
    made.id = known->second;
    made.path = known->first;
  }
  return known->second;
}

uint32_t ImportedStacks::number_of(uint32_t track, std::span<const ImportedFrame> frames) {
  if (frames.empty()) return 0;
  std::string key;
  trace::Stack stack;
  for (const ImportedFrame& frame : frames) {
    const std::string_view function = frame.function.substr(0, kLongestFrameText),
                           file = frame.file.substr(0, kLongestFrameText);
    const uint32_t of = module(frame.module);
    key_.clear();
    put_varint(key_, of);
    put_varint(key_, frame.line);
    put_varint(key_, function.size());
    key_.append(function).append(file);
    const auto [known, is_new] = frame_ids_.try_emplace(key_, static_cast<uint32_t>(frames_.size() + 1));
    if (is_new) frames_.push_back({known->second, of, 0, std::string(function), std::string(file), frame.line});
    stack.frames.push_back(known->second);
    put_varint(key, known->second);
  }
  const auto [known, is_new] = stack_ids_.try_emplace(key, static_cast<uint32_t>(stacks_.size() + 1));
  if (is_new) {
    stack.id = known->second;
    stacks_.push_back(std::move(stack));
  }
  used_[track].insert(known->second);
  return known->second;
}

void ImportedStacks::write(trace::Writer& writer, const trace::WriterId& id, std::span<const uint32_t> tracks) const {
  std::set<uint32_t> numbers, written, written_modules;
  for (const uint32_t track : tracks)
    if (const auto used = used_.find(track); used != used_.end())
      numbers.insert(used->second.begin(), used->second.end());
  std::vector<trace::Stack> stacks;
  std::vector<trace::Frame> frames;
  std::vector<trace::Module> modules;
  const auto flush = [&] {
    if (!stacks.empty()) writer.stacks(id, modules, frames, stacks);
    stacks.clear();
    frames.clear();
    modules.clear();
  };
  for (const uint32_t number : numbers) {
    stacks.push_back(stacks_[number - 1]);
    for (const uint32_t frame : stacks.back().frames) {
      if (!written.insert(frame).second) continue;
      frames.push_back(frames_[frame - 1]);
      const uint32_t of = frames.back().module;
      if (of != 0 && written_modules.insert(of).second) modules.push_back(modules_[of - 1]);
    }
    if (stacks.size() == kStacksPerChunk) flush();
  }
  flush();
}

}  // namespace kymo::import
