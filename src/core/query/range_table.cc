#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/operation_name.h"
#include "base/clock.h"
#include "base/printable.h"
#include "convert/chunk_order.h"
#include "convert/events.h"
#include "kymo/error.h"
#include "query/event_texts.h"
#include "query/loaded_traces.h"
#include "query/range_facts.h"
#include "query/table.h"

namespace kymo::query {

namespace {

enum RangeColumn : size_t {
  kRangeName,
  kRangeFullName,
  kRangeCategory,
  kRangeStart,
  kRangeEnd,
  kRangeDuration,
  kRangeSelf,
  kRangeId,
  kRangeParent,
  kRangeDepth,
  kRangeLane,
  kRangeCorrelation,
  kRangeIteration,
  kRangeFinished,
  kRangeShapes,
  kRangeArgs,
  kRangeTrack,  // the first of kTrackColumns
};

void set_number(Output& output, size_t column, size_t row, uint64_t number, uint64_t none) {
  auto* const to = output.values<uint64_t>(column);
  if (to == nullptr) return;
  to[row] = number;
  if (number == none) output.set_null(column, row);
}

void set_iteration(Output& output, size_t row, std::optional<uint32_t> iteration) {
  output.values<uint32_t>(kRangeIteration)[row] = iteration.value_or(0);
  if (!iteration) output.set_null(kRangeIteration, row);
}

void set_shapes(Output& output, size_t row, const convert::Event& event) {
  const auto& fields = event.event_class->event_class.fields;
  for (size_t i = 0; i < std::min(fields.size(), event.values.size()); ++i) {
    if (fields[i].name != analyze::kInputShapes) continue;
    return output.set_text(kRangeShapes, row, analyze::shapes_in_one_line(base::readable_text(event.values[i].text)));
  }
  output.set_null(kRangeShapes, row);
}

// The ranges of a trace that are not in the list of ranges of a chunk: ranges across threads, whose two ends are points
// of different tracks, and ranges that have no end.
//
// One thread reads them in file order, because a range that is open after a chunk may end in the next one. It reads
// only the heads of the chunks, and their points. Memory does not grow with the trace. The rows are the same as those
// of convert/events.h.
class LooseRanges : private convert::EventVisitor {
 public:
  LooseRanges(LoadedTraces& traces, const LoadedTrace& trace, bool wants_args);

  // Writes rows of the table "ranges"; 0: there are no more.
  size_t next(Output& output);

 private:
  struct Row {
    const TrackInfo* track = nullptr;
    uint32_t name = 0, category = 0;
    std::string full_name, args;
    int64_t start_ns = 0, end_ns = 0, monotonic_ns = 0;
    bool across_threads = false, finished = true;
    bool is_open = false;  // at the end of its track
    size_t depth = 0;
    uint64_t correlation = 0, order = 0;
  };
  struct Track {
    std::vector<trace::OpenRange> open;  // after its last chunk, outermost first
    uint64_t last = 0;                   // ticks of its last event
  };

  void find_ends();
  void read(const trace::EventChunk& chunk);
  void read_points(const TrackInfo& track, const trace::Points& points);
  Row& add_unfinished(const TrackInfo& track, const trace::OpenRange& open, size_t depth, int64_t end_ns);
  void finish();
  void async_range(const convert::AsyncRange& range) override;
  Row& add_row(const convert::Event& event, const TrackInfo& track);
  void write(Output& output, size_t row, const Row& from) const;

  LoadedTraces& traces_;
  const LoadedTrace& trace_;
  const bool wants_args_;
  size_t next_chunk_ = 0;
  bool finished_ = false;
  std::map<uint32_t, int64_t> ends_ns_;  // by writer: when the process was last seen alive
  std::map<const TrackInfo*, Track> tracks_;
  std::map<const convert::Place*, const TrackInfo*> by_place_;
  trace::EventBatch batch_;
  EventTexts texts_, open_texts_;
  trace::Values open_values_;
  convert::AsyncRanges async_;
  std::deque<Row> rows_;
  uint64_t order_ = 0;
};

constexpr uint32_t kHostClock = 1;  // of every writer: docs/format.md

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
      add_unfinished(*info, track.open[depth], depth, ends_ns_.at(info->writer)).is_open = true;
  async_.finish([this](const convert::Place& place) { return ends_ns_.at(by_place_.at(&place)->writer); });
}

LooseRanges::Row& LooseRanges::add_unfinished(const TrackInfo& track, const trace::OpenRange& open, size_t depth,
                                              int64_t end_ns) {
  open_values_ = {open.ints, open.doubles, open.text};
  open_texts_.load(*track.place->writer, open_values_, {&open.class_id, 1});
  convert::Range range;
  open_texts_.describe(0, *track.place, range);
  Row& row = add_row(range, track);
  if (wants_args_) row.args = open_texts_.args(range);
  row.start_ns = track.clock->to_realtime_ns(open.start);
  row.monotonic_ns = track.clock->to_monotonic_ns(open.start);
  row.end_ns = std::max(row.start_ns, end_ns);
  row.finished = false;
  row.depth = depth;
  row.correlation = open.correlation;
  return row;
}

void LooseRanges::async_range(const convert::AsyncRange& range) {
  Row& row = add_row(range, *by_place_.at(range.place));
  const uint64_t last = tracks_[row.track].last;
  if (wants_args_) {
    convert::AsyncRange fields = range;
    fields.finished = true;  // a column of its own
    row.args = texts_.args(fields);
  }
  row.start_ns = range.start_ns;
  const uint64_t ahead = static_cast<uint64_t>(row.track->clock->to_realtime_ns(last)) -
                         static_cast<uint64_t>(row.track->clock->to_monotonic_ns(last));
  row.monotonic_ns = static_cast<int64_t>(static_cast<uint64_t>(row.start_ns) - ahead);
  row.end_ns = range.end_ns;
  row.finished = range.finished;
  row.across_threads = true;
}

LooseRanges::Row& LooseRanges::add_row(const convert::Event& event, const TrackInfo& track) {
  Row& row = rows_.emplace_back();
  row.track = &track;
  row.order = order_++;
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
  const uint64_t elapsed = convert::elapsed_ns(from.start_ns, from.end_ns);
  if (auto* const duration = output.values<int64_t>(kRangeDuration)) duration[row] = static_cast<int64_t>(elapsed);
  if (auto* const self = output.values<int64_t>(kRangeSelf))
    self[row] =
        static_cast<int64_t>(from.is_open ? trace_.nesting().open_self_ns(*from.track, from.depth, elapsed) : elapsed);
  if (!from.finished && !from.is_open && !from.across_threads) output.set_null(kRangeSelf, row);  // its end is lost
  if (output.wants(kRangeId))
    output.values<uint64_t>(kRangeId)[row] =
        from.is_open ? trace_.ids().of_open(*from.track, from.depth) : trace_.ids().of_other(from.order);
  if (output.wants(kRangeParent))
    set_number(output, kRangeParent, row,
               from.is_open ? trace_.nesting().open_parent(*from.track, from.depth) : Nesting::kNone, Nesting::kNone);
  if (output.wants(kRangeIteration))
    set_iteration(output, row, trace_.iterations().find(*from.track, from.monotonic_ns, from.correlation));
  output.set_null(kRangeShapes, row);  // they come with an end
  if (auto* const depth = output.values<uint16_t>(kRangeDepth))
    depth[row] = static_cast<uint16_t>(std::min<size_t>(from.depth, UINT16_MAX));
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

class RangeScan : public Scan {
 public:
  RangeScan(LoadedTraces& traces, const std::vector<bool>& wanted)
      : traces_(traces), chunks_(traces, [](const trace::EventChunk& chunk) { return chunk.range_count != 0; }) {
    wants_names_ = wanted[kRangeName];
    wants_texts_ = wanted[kRangeFullName] || wanted[kRangeArgs] || wanted[kRangeShapes];
    wants_args_ = wanted[kRangeArgs];
    if (wanted[kRangeName] || wanted[kRangeCategory]) parts_ |= trace::kRangeClasses;
    if (wants_texts_) parts_ |= trace::kRangeClasses | trace::kRangeValues;
    if (wanted[kRangeStart] || wanted[kRangeEnd] || wanted[kRangeDuration] || wanted[kRangeIteration])
      parts_ |= trace::kRangeTimes;
    if (wanted[kRangeDepth] || wanted[kRangeLane]) parts_ |= trace::kRangeDepths;
    if (wanted[kRangeCorrelation] || wanted[kRangeIteration]) parts_ |= trace::kRangeCorrelations;
  }
  std::unique_ptr<Cursor> cursor() override;

 private:
  friend class RangeCursor;
  LoadedTraces& traces_;
  ChunkQueue chunks_;
  std::atomic<size_t> next_loose_{0};  // the trace whose loose ranges nobody reads yet
  unsigned parts_ = 0;
  bool wants_names_, wants_texts_, wants_args_;
};

class RangeCursor : public Cursor {
 public:
  explicit RangeCursor(RangeScan& scan) : scan_(scan) {}

  size_t next(Output& output) override {
    while (true) {
      if (loose_ != nullptr) {
        if (const size_t count = loose_->next(output)) return count;
        loose_.reset();
      }
      const size_t loose = scan_.next_loose_.fetch_add(1);
      if (loose >= scan_.traces_.all().size()) break;
      loose_ = std::make_unique<LooseRanges>(scan_.traces_, scan_.traces_.all()[loose], scan_.wants_args_);
    }
    while (position_ == count_)
      if (!load()) return 0;
    const size_t count = std::min(count_ - position_, output.capacity());
    write(output, count);
    position_ += count;
    return count;
  }

 private:
  // Reads the next chunk; false: there is none.
  bool load() {
    position_ = count_ = 0;
    const auto at = scan_.chunks_.take();
    if (!at) return false;
    const trace::EventChunk& chunk = at->chunk();
    trace_ = at->trace;
    chunk_ = at->index;
    track_ = at->trace->find(chunk);
    if (track_ == nullptr) return true;  // the reader has reported it
    has_inline_names_ = scan_.wants_names_ && at->trace->has_inline_names[at->index];
    const unsigned parts = scan_.parts_ | (has_inline_names_ ? trace::kRangeValues : 0u);
    try {
      at->trace->reader.read(chunk, batch_, parts);
    } catch (const Error& error) {
      scan_.traces_.add_problem(*at->trace, chunk, error.what());
      return true;
    }
    if (scan_.wants_texts_ || has_inline_names_)
      texts_.load(*track_->place->writer, batch_.ranges.values, batch_.ranges.class_id);
    count_ = chunk.range_count;
    if (parts & trace::kRangeClasses) count_ = std::min(count_, batch_.ranges.class_id.size());
    if (parts & trace::kRangeTimes) count_ = std::min(count_, batch_.ranges.end.size());
    return true;
  }

  void write(Output& output, size_t count) {
    const trace::Ranges& ranges = batch_.ranges;
    write_names(output, count);
    write_times(output, count);
    if (auto* const depth = output.values<uint16_t>(kRangeDepth)) copy(ranges.depth, depth, count);
    if (auto* const lane = output.values<uint16_t>(kRangeLane)) copy(ranges.lane, lane, count);
    if (auto* const correlation = output.values<uint64_t>(kRangeCorrelation)) {
      copy(ranges.correlation, correlation, count);
      for (size_t i = 0; i < count; ++i)
        if (correlation[i] == 0) output.set_null(kRangeCorrelation, i);
    }
    write_nesting(output, count);
    if (output.wants(kRangeIteration)) write_iterations(output, count);
    if (auto* const finished = output.values<bool>(kRangeFinished)) std::fill_n(finished, count, true);
    fill_track(output, kRangeTrack, 0, count, *track_);
    if (scan_.wants_texts_) write_texts(output, count);
  }

  void write_nesting(Output& output, size_t count) {
    auto* const id = output.values<uint64_t>(kRangeId);
    auto* const self = output.values<int64_t>(kRangeSelf);
    if (id == nullptr && self == nullptr && !output.wants(kRangeParent)) return;
    const uint64_t first = trace_->ids().of_chunk(chunk_) + position_;
    for (size_t i = 0; id != nullptr && i < count; ++i) id[i] = first + i;
    if (self == nullptr && !output.wants(kRangeParent)) return;
    const Nesting& nesting = trace_->nesting();
    for (size_t i = 0; i < count; ++i) {
      if (self != nullptr) self[i] = static_cast<int64_t>(nesting.self_ns(first + i));
      set_number(output, kRangeParent, i, nesting.parent(first + i), Nesting::kNone);
    }
  }

  void write_iterations(Output& output, size_t count) {
    const IterationOfRange& iterations = trace_->iterations();
    const trace::Ranges& ranges = batch_.ranges;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = position_ + i;
      set_iteration(output, i,
                    iterations.find(*track_, track_->clock->to_monotonic_ns(ranges.end[at] - ranges.duration[at]),
                                    ranges.correlation.empty() ? 0 : ranges.correlation[at]));
    }
  }

  // An empty column has zeros.
  template <typename Number>
  void copy(const std::vector<Number>& from, Number* to, size_t count) const {
    if (from.empty())
      std::fill_n(to, count, Number{0});
    else
      std::copy_n(from.data() + position_, count, to);
  }

  void write_names(Output& output, size_t count) {
    const uint32_t* const class_id = batch_.ranges.class_id.data() + position_;
    const ClassNumbers& classes = *track_->classes;
    if (!has_inline_names_) {
      output.set_enums(kRangeName, 0, count, [&](size_t i) { return classes.find(class_id[i]).name; });
    } else {
      for (size_t i = 0; i < count; ++i) {
        uint32_t number = classes.find(class_id[i]).name;
        if (class_id[i] == trace::kInlineName) {
          convert::Range range;
          texts_.describe(position_ + i, *track_->place, range);
          number = name_number(range, scan_.traces_);
        }
        output.set_enum(kRangeName, i, number);
      }
    }
    output.set_enums(kRangeCategory, 0, count, [&](size_t i) { return classes.find(class_id[i]).category; });
  }

  void write_times(Output& output, size_t count) {
    auto* const to_start = output.values<int64_t>(kRangeStart);
    auto* const to_end = output.values<int64_t>(kRangeEnd);
    auto* const to_duration = output.values<int64_t>(kRangeDuration);
    if (to_start == nullptr && to_end == nullptr && to_duration == nullptr) return;  // then there are no times
    const trace::ClockMap& clock = *track_->clock;
    const std::span end = std::span<const uint64_t>(batch_.ranges.end).subspan(position_, count);
    const uint64_t* const duration = batch_.ranges.duration.data() + position_;
    if (to_start != nullptr) {
      ticks_.resize(count);
      for (size_t i = 0; i < count; ++i) ticks_[i] = end[i] - duration[i];
      clock.to_realtime_ns(ticks_, to_start);
    }
    if (to_end != nullptr) clock.to_realtime_ns(end, to_end);
    if (to_duration == nullptr) return;
    for (size_t i = 0; i < count; ++i) to_duration[i] = static_cast<int64_t>(clock.duration_ns(duration[i]));
  }

  void write_texts(Output& output, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      convert::Range range;
      texts_.describe(position_ + i, *track_->place, range);
      if (output.wants(kRangeFullName)) output.set_text(kRangeFullName, i, base::readable_text(range.name));
      if (output.wants(kRangeShapes)) set_shapes(output, i, range);
      if (output.wants(kRangeArgs)) output.set_text(kRangeArgs, i, texts_.args(range));
    }
  }

  RangeScan& scan_;
  std::unique_ptr<LooseRanges> loose_;
  const LoadedTrace* trace_ = nullptr;
  const TrackInfo* track_ = nullptr;
  trace::EventBatch batch_;
  size_t chunk_ = 0, position_ = 0, count_ = 0;
  bool has_inline_names_ = false;
  EventTexts texts_;
  std::vector<uint64_t> ticks_;  // of a call, reused for the next one
};

std::unique_ptr<Cursor> RangeScan::cursor() { return std::make_unique<RangeCursor>(*this); }

uint64_t count_ranges(const LoadedTraces& traces) {
  uint64_t count = 0;
  for (const LoadedTrace& trace : traces.all())
    for (const trace::EventChunk& chunk : trace.reader.event_chunks()) count += chunk.range_count;
  return count;
}

}  // namespace

Table range_table() {
  Table table{
      .name = "ranges",
      .help = "what lasted some time: annotated code, device work, ranges across threads",
      .columns = {{"name", ColumnType::Name, "without values: 'step {}'; the same as in kymo stats"},
                  {"full_name", ColumnType::Text, "with values: 'step 7'"},
                  {"category", ColumnType::Category, "NULL if it has none"},
                  {"start_ns", ColumnType::Int64, "nanoseconds since 1970"},
                  {"end_ns", ColumnType::Int64, "nanoseconds since 1970; see finished"},
                  {"duration_ns", ColumnType::Int64, "as in kymo stats; end_ns - start_ns may differ a little"},
                  {"self_ns", ColumnType::Int64, "duration_ns without the ranges inside; NULL if its end was lost"},
                  {"id", ColumnType::UInt64, "a number that only this range has"},
                  {"parent", ColumnType::UInt64, "the id of the range around it; NULL if none"},
                  {"depth", ColumnType::UInt16, "0: outermost; NULL for a range across threads"},
                  {"lane", ColumnType::UInt16, "above 0 if it overlaps without nesting"},
                  {"correlation", ColumnType::UInt64, "connects a launch and its device work; NULL if none"},
                  {"iteration", ColumnType::UInt32,
                   "from 0, as in kymo report; device work: of its launch; NULL if none"},
                  {"finished", ColumnType::Boolean, "false: has no end; end_ns is when its process was last seen"},
                  {"shapes", ColumnType::Text, "of the inputs, if they were recorded: '[[8, 3], [3]]'"},
                  {"args", ColumnType::Text, "the values, as JSON: args->>'bytes'"}},
      .scan = [](const Table&, LoadedTraces& traces, const std::vector<bool>& wanted) -> std::unique_ptr<Scan> {
        return std::make_unique<RangeScan>(traces, wanted);
      },
      .estimate = count_ranges,
      .max_threads = 0};
  table.columns.insert(table.columns.end(), std::begin(kTrackColumns), std::end(kTrackColumns));
  return table;
}

}  // namespace kymo::query
