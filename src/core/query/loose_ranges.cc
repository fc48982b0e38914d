#include "query/loose_ranges.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/utf8.h"
#include "convert/chunk_order.h"
#include "kymo/error.h"
#include "query/range_table.h"
#include "query/track_columns.h"

namespace kymo::query {
namespace {

constexpr uint32_t kHostClock = 1;  // of every writer: docs/format.md

}  // namespace

LooseRanges::LooseRanges(LoadedTraces& traces, const LoadedTrace& trace, bool wants_args)
    : traces_(traces), trace_(trace), wants_args_(wants_args), async_(*this) {
  for (const auto& [key, track] : trace.tracks) by_place_[track.place] = &track;
  find_ends();
}

void LooseRanges::find_ends() {
  for (const trace::EventChunk& chunk : trace_.reader.event_chunks()) {
    const TrackInfo* const track = trace_.find(chunk);
    if (track == nullptr) continue;
    const trace::WriterInfo& writer = *track->place->writer;
    int64_t& end = ends_ns_.try_emplace(track->writer, std::numeric_limits<int64_t>::min()).first->second;
    end = std::max(end, track->clock->to_realtime_ns(chunk.last));
    if (!writer.ending && trace_.reader.is_being_written())
      end = std::max(end, static_cast<int64_t>(base::realtime_ns()));
    if (writer.ending && track->place->track->clock == kHostClock)
      end = std::max(end, track->clock->to_realtime_ns(writer.ending->alive_until));
  }
}

size_t LooseRanges::next(Output& output) {
  const std::vector<trace::EventChunk>& chunks = trace_.reader.event_chunks();
  while (rows_.size() < output.capacity() && next_chunk_ < chunks.size()) read(chunks[next_chunk_++]);
  if (next_chunk_ == chunks.size() && !finished_) {
    finished_ = true;
    finish();
  }
  const size_t count = std::min(rows_.size(), output.capacity());
  for (size_t row = 0; row < count; ++row) {
    write(output, row, rows_.front());
    rows_.pop_front();
  }
  return count;
}

void LooseRanges::read(const trace::EventChunk& chunk) {
  const TrackInfo* const info = trace_.find(chunk);
  if (info == nullptr) return;  // the reader has reported it
  try {
    const unsigned points = chunk.point_count != 0 ? trace::kPoints | trace::kPointValues : 0;
    trace_.reader.read(chunk, batch_, trace::kOpenStacks | points);
  } catch (const Error& error) {
    return traces_.add_problem(trace_, chunk, error.what());
  }
  // What is not open any more ended where a chunk is missing.
  Track& track = tracks_[info];
  size_t same = 0;
  const size_t both = std::min(track.open.size(), batch_.opening.size());
  while (same < both && convert::same_range(track.open[same], batch_.opening[same])) ++same;
  for (size_t depth = track.open.size(); depth-- > same;)
    add_unfinished(*info, track.open[depth], depth, info->clock->to_realtime_ns(track.last));
  track.open = std::move(batch_.closing);
  track.last = std::max(track.last, chunk.last);
  if (batch_.points.size() != 0) read_points(*info, batch_.points);
}

void LooseRanges::read_points(const TrackInfo& track, const trace::Points& points) {
  const auto is_async = [](trace::PointKind kind) {
    return kind == trace::PointKind::AsyncBegin || kind == trace::PointKind::AsyncEnd;
  };
  if (std::none_of(points.kind.begin(), points.kind.end(), is_async)) return;
  texts_.load(*track.place->writer, points.values, points.class_id);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!is_async(points.kind[i])) continue;
    convert::Point point;
    texts_.describe(i, *track.place, point);
    point.kind = points.kind[i];
    point.time_ns = track.clock->to_realtime_ns(points.time[i]);
    point.id = points.id[i];
    if (point.kind == trace::PointKind::AsyncBegin)
      async_.begin(track.writer, point);
    else
      async_.end(track.writer, point);
  }
}

void LooseRanges::finish() {
  for (const auto& [info, track] : tracks_)
    for (size_t depth = 0; depth < track.open.size(); ++depth)
      add_unfinished(*info, track.open[depth], depth, ends_ns_.at(info->writer));
  async_.finish([this](const convert::Place& place) { return ends_ns_.at(by_place_.at(&place)->writer); });
}

void LooseRanges::add_unfinished(const TrackInfo& track, const trace::OpenRange& open, size_t depth, int64_t end_ns) {
  open_values_ = {open.ints, open.doubles, open.text};
  open_texts_.load(*track.place->writer, open_values_, {&open.class_id, 1});
  convert::Range range;
  open_texts_.describe(0, *track.place, range);
  Row& row = add_row(range, track);
  if (wants_args_) row.args = open_texts_.args(range);
  row.start_ns = track.clock->to_realtime_ns(open.start);
  row.end_ns = std::max(row.start_ns, end_ns);
  row.finished = false;
  row.depth = static_cast<uint16_t>(depth);
  row.correlation = open.correlation;
}

void LooseRanges::async_range(const convert::AsyncRange& range) {
  Row& row = add_row(range, *by_place_.at(range.place));
  if (wants_args_) {
    convert::AsyncRange fields = range;
    fields.finished = true;  // a column of its own
    row.args = texts_.args(fields);
  }
  row.start_ns = range.start_ns;
  row.end_ns = range.end_ns;
  row.finished = range.finished;
  row.across_threads = true;
}

LooseRanges::Row& LooseRanges::add_row(const convert::Event& event, const TrackInfo& track) {
  Row& row = rows_.emplace_back();
  row.track = &track;
  row.name = name_number(event, traces_);
  const std::string& category = event.event_class->event_class.category;
  row.category = category.empty() ? Dictionary::kNull : traces_.categories.find(category);
  row.full_name = base::readable_text(event.name);
  return row;
}

void LooseRanges::write(Output& output, size_t row, const Row& from) const {
  output.set_enum(kRangeName, row, from.name);
  output.set_text(kRangeFullName, row, from.full_name);
  output.set_enum(kRangeCategory, row, from.category);
  if (auto* const start = output.values<int64_t>(kRangeStart)) start[row] = from.start_ns;
  if (auto* const end = output.values<int64_t>(kRangeEnd)) end[row] = from.end_ns;
  if (auto* const duration = output.values<int64_t>(kRangeDuration))
    duration[row] = static_cast<int64_t>(convert::elapsed_ns(from.start_ns, from.end_ns));
  if (auto* const depth = output.values<uint16_t>(kRangeDepth)) depth[row] = from.depth;
  if (auto* const lane = output.values<uint16_t>(kRangeLane)) lane[row] = 0;
  if (auto* const correlation = output.values<uint64_t>(kRangeCorrelation)) correlation[row] = from.correlation;
  if (auto* const finished = output.values<bool>(kRangeFinished)) finished[row] = from.finished;
  if (from.across_threads) {
    output.set_null(kRangeDepth, row);
    output.set_null(kRangeLane, row);
  }
  if (from.correlation == 0) output.set_null(kRangeCorrelation, row);
  output.set_text(kRangeArgs, row, from.args);
  fill_track(output, kRangeTrack, row, 1, *from.track);
}

}  // namespace kymo::query
