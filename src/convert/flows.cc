#include "convert/flows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "convert/chunk_order.h"
#include "kymo/error.h"

namespace kymo::convert {

namespace {

bool is_end_of_flow(trace::PointKind kind) {
  return kind == trace::PointKind::FlowBegin || kind == trace::PointKind::FlowEnd;
}

bool read_passes(const trace::Reader& reader, const trace::EventChunk& chunk, trace::EventBatch& into, unsigned parts) {
  try {
    reader.read(chunk, into, parts);
    return true;
  } catch (const Error&) {
    return false;  // the walk that follows reports it
  }
}

}  // namespace

Flows::Flows(const trace::Reader& reader) {
  collect_points(reader);
  collect_correlations(reader);
}

void Flows::collect_points(const trace::Reader& reader) {
  std::map<trace::WriterId, Ends> found;
  trace::EventBatch batch;
  ChunkOrder order;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    if (chunk.point_count == 0 || !read_passes(reader, chunk, batch, trace::kPoints)) continue;
    if (std::none_of(batch.points.kind.begin(), batch.points.kind.end(), is_end_of_flow)) continue;
    constexpr unsigned kTree = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks;
    if (!read_passes(reader, chunk, batch, trace::kPoints | kTree)) continue;
    order.arrange(batch, batch.opening);
    size_t depth = batch.opening.size();
    Ends& ends = found[chunk.writer];
    for (const Step& step : order.steps()) {
      if (step.kind == Step::Kind::Begin) ++depth;
      if (step.kind == Step::Kind::End && depth > 0) --depth;
      if (step.kind != Step::Kind::Point || !is_end_of_flow(batch.points.kind[step.index])) continue;
      const bool is_begin = batch.points.kind[step.index] == trace::PointKind::FlowBegin;
      if (depth == 0) {
        ++incomplete_;
      } else {
        (is_begin ? ends.begins : ends.ends).push_back(batch.points.id[step.index]);
      }
    }
  }
  incomplete_ += pair_up(found, points_);
}

void Flows::collect_correlations(const trace::Reader& reader) {
  std::map<trace::WriterId, Ends> found;
  trace::EventBatch batch;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const auto writer = reader.writers().find(chunk.writer);
    if (writer == reader.writers().end() || chunk.range_count == 0) continue;
    const auto& tracks = writer->second.tracks;
    const auto on_device = [](const auto& track) { return track.second.kind == trace::TrackKind::DeviceQueue; };
    const auto track = tracks.find(chunk.track);
    if (track == tracks.end() || std::none_of(tracks.begin(), tracks.end(), on_device)) continue;
    if (!read_passes(reader, chunk, batch, trace::kRangeCorrelations)) continue;
    Ends& ends = found[chunk.writer];
    std::vector<uint64_t>& ids = on_device(*track) ? ends.ends : ends.begins;
    std::copy_if(batch.ranges.correlation.begin(), batch.ranges.correlation.end(), std::back_inserter(ids),
                 [](uint64_t correlation) { return correlation != 0; });
  }
  pair_up(found, launches_);  // an operation that never reaches a device is complete without one
}

uint64_t Flows::pair_up(std::map<trace::WriterId, Ends>& found, PerWriter& into) {
  uint64_t alone = 0;
  for (auto& [writer, ends] : found) {
    const auto sort_unique = [](std::vector<uint64_t>& ids) {
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    };
    sort_unique(ends.begins);
    sort_unique(ends.ends);
    std::vector<uint64_t> whole;
    std::set_intersection(ends.begins.begin(), ends.begins.end(), ends.ends.begin(), ends.ends.end(),
                          std::back_inserter(whole));
    alone += ends.begins.size() + ends.ends.size() - 2 * whole.size();
    std::vector<Flow>& flows = into[writer];
    flows.reserve(whole.size());
    for (const uint64_t id : whole) flows.push_back({.id = id, .number = next_number_++});
  }
  return alone;
}

uint32_t Flows::claim(PerWriter& flows, const trace::WriterId& writer, uint64_t id, bool Flow::*taken) {
  const auto of_writer = flows.find(writer);
  if (of_writer == flows.end()) return 0;
  std::vector<Flow>& sorted = of_writer->second;
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), id,
                                      [](const Flow& flow, uint64_t wanted) { return flow.id < wanted; });
  if (found == sorted.end() || found->id != id) return 0;
  if (taken != nullptr && std::exchange((*found).*taken, true)) return 0;
  return found->number;
}

}  // namespace kymo::convert
