#include "query/range_table.h"

#include <algorithm>
#include <atomic>
#include <span>

#include "base/utf8.h"
#include "kymo/error.h"
#include "query/chunk_queue.h"
#include "query/event_texts.h"
#include "query/loose_ranges.h"
#include "query/track_columns.h"

namespace kymo::query {
namespace {

class RangeScan : public Scan {
 public:
  RangeScan(LoadedTraces& traces, const std::vector<bool>& wanted)
      : traces_(traces), chunks_(traces, [](const trace::EventChunk& chunk) { return chunk.range_count != 0; }) {
    wants_names_ = wanted[kRangeName];
    wants_texts_ = wanted[kRangeFullName] || wanted[kRangeArgs];
    wants_args_ = wanted[kRangeArgs];
    if (wanted[kRangeName] || wanted[kRangeCategory]) parts_ |= trace::kRangeClasses;
    if (wants_texts_) parts_ |= trace::kRangeClasses | trace::kRangeValues;
    if (wanted[kRangeStart] || wanted[kRangeEnd] || wanted[kRangeDuration]) parts_ |= trace::kRangeTimes;
    if (wanted[kRangeDepth] || wanted[kRangeLane]) parts_ |= trace::kRangeDepths;
    if (wanted[kRangeCorrelation]) parts_ |= trace::kRangeCorrelations;
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
    if (auto* const finished = output.values<bool>(kRangeFinished)) std::fill_n(finished, count, true);
    fill_track(output, kRangeTrack, 0, count, *track_);
    if (scan_.wants_texts_) write_texts(output, count);
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
      if (output.wants(kRangeArgs)) output.set_text(kRangeArgs, i, texts_.args(range));
    }
  }

  RangeScan& scan_;
  std::unique_ptr<LooseRanges> loose_;
  const TrackInfo* track_ = nullptr;
  trace::EventBatch batch_;
  size_t position_ = 0, count_ = 0;
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
                  {"depth", ColumnType::UInt16, "0: outermost; NULL for a range across threads"},
                  {"lane", ColumnType::UInt16, "above 0 if it overlaps without nesting"},
                  {"correlation", ColumnType::UInt64, "connects a launch and its device work; NULL if none"},
                  {"finished", ColumnType::Boolean, "false: has no end; end_ns is when its process was last seen"},
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
