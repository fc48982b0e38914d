#include "analyze/report/events.h"

#include <algorithm>

#include "analyze/decode_ahead.h"
#include "base/text.h"
#include "trace/model.h"

namespace kymo::analyze {

std::string TrackOfTrace::name() const {
  const std::string process = trace::program_name(writer->origin);
  if (on_device) return track->name.empty() ? base::format("queue {}", track->queue) : track->name;
  const bool is_process = track->kind == trace::TrackKind::Process || (track->tid == 0 && track->name.empty());
  if (is_process) return process.empty() ? base::format("process {}", writer->origin.pid) : process;
  const std::string thread = track->name.empty() ? base::format("thread {}", track->tid) : track->name;
  return process.empty() || thread.find(process) != std::string::npos ? thread : process + " " + thread;
}

EventWalk::EventWalk(const trace::Reader& reader) : reader_(reader) {
  uint32_t writer_number = 0;
  const std::map<trace::WriterId, int64_t> ends = trace::last_alive_ns(reader);
  for (const auto& [id, writer] : reader.writers()) {
    const auto end = ends.find(id);
    for (const auto& [track_id, track] : writer.tracks) {
      const auto domain = writer.clocks.find(track.clock);
      TrackOfTrace& made = tracks_.emplace_back();
      made.number = static_cast<uint32_t>(tracks_.size() - 1);
      made.writer_number = writer_number;
      made.writer = &writer;
      made.track = &track;
      made.on_device = track.kind == trace::TrackKind::DeviceQueue;
      if (domain != writer.clocks.end()) made.clock = trace::clock_map(domain->second);
      if (end != ends.end()) made.end_ns = end->second;
      numbers_[{id, track_id}] = made.number;
    }
    ++writer_number;
  }
  bool is_first = true;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const TrackOfTrace* const track = track_of(chunk);
    if (track == nullptr || chunk.range_count + chunk.point_count == 0) continue;  // it only says what is open
    const int64_t first = track->ns(chunk.first), last = track->ns(chunk.last);
    first_ns_ = is_first ? first : std::min(first_ns_, first);
    last_ns_ = is_first ? last : std::max(last_ns_, last);
    is_first = false;
  }
}

const TrackOfTrace* EventWalk::track_of(const trace::EventChunk& chunk) const {
  const auto number = numbers_.find({chunk.writer, chunk.track});
  return number == numbers_.end() || !tracks_[number->second].clock.usable() ? nullptr : &tracks_[number->second];
}

std::vector<trace::Problem> EventWalk::problems() const {
  std::vector<trace::Problem> all = reader_.problems();
  for (const auto& [offset, problem] : damaged_) all.push_back(problem);
  return all;
}

std::vector<trace::EventChunk> EventWalk::chunks_of(const std::function<bool(const TrackOfTrace&)>& wanted) const {
  std::vector<trace::EventChunk> chunks;
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    const TrackOfTrace* const track = track_of(chunk);
    if (track != nullptr && wanted(*track)) chunks.push_back(chunk);
  }
  return chunks;
}

void EventWalk::each(unsigned parts, const std::function<bool(const TrackOfTrace&)>& wanted, const Visit& visit) {
  each(parts, chunks_of(wanted), visit);
}

void EventWalk::each_backwards(unsigned parts, const std::function<bool(const TrackOfTrace&)>& wanted,
                               const Visit& visit) {
  std::vector<trace::EventChunk> chunks = chunks_of(wanted);
  std::reverse(chunks.begin(), chunks.end());
  each(parts, chunks, visit);
}

void EventWalk::each(unsigned parts, const std::vector<trace::EventChunk>& chunks, const Visit& visit) {
  DecodeAhead ahead(chunks,
                    [&](const trace::EventChunk& chunk, trace::EventBatch& into) { reader_.read(chunk, into, parts); });
  while (const DecodeAhead::Item* const item = ahead.next()) {
    if (!item->error.empty()) {
      damaged_.try_emplace(item->chunk->offset, trace::Problem{item->chunk->offset, item->chunk->length, item->error});
      continue;
    }
    visit(tracks_[numbers_.at({item->chunk->writer, item->chunk->track})], item->batch);
  }
}

TrackRange RangesBackwards::range_of(const TrackOfTrace& track, const trace::Ranges& ranges, size_t i) {
  TrackRange range;
  range.end = track.ns(ranges.end[i]);
  range.begin = track.ns(ranges.end[i] - ranges.duration[i]);
  range.correlation = ranges.correlation.empty() ? 0 : ranges.correlation[i];
  range.class_id = ranges.class_id[i];
  range.lane = ranges.lane.empty() ? uint16_t{0} : ranges.lane[i];
  range.depth = ranges.depth[i];
  return range;
}

bool RangesBackwards::says_what_is_open(const trace::EventBatch& batch) {
  const std::vector<uint16_t>& lanes = batch.ranges.lane;
  return !batch.closing.empty() || lanes.empty() || std::find(lanes.begin(), lanes.end(), uint16_t{0}) != lanes.end();
}

}  // namespace kymo::analyze
