#include "push/event_rows.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "analyze/report/events.h"
#include "push/tables.h"

namespace kymo::push {
namespace {

// One insert is one block, and a block of up to 1,048,576 rows is inserted at once.
constexpr size_t kRowsOfBlock = 500'000, kBytesOfBlock = 64 << 20;
constexpr size_t kJob = 3, kKind = 5, kTrack = 6, kName = 7;  // columns
constexpr uint32_t kNoKey = UINT32_MAX;

std::string_view kind_text(trace::PointKind kind) {
  switch (kind) {
    case trace::PointKind::Instant:
      return "instant";
    case trace::PointKind::Counter:
      return "counter";
    case trace::PointKind::AsyncBegin:
      return "async begin";
    case trace::PointKind::AsyncEnd:
      return "async end";
    case trace::PointKind::FlowBegin:
      return "flow begin";
    case trace::PointKind::FlowStep:
      return "flow step";
    case trace::PointKind::FlowEnd:
      return "flow end";
    case trace::PointKind::Allocation:
      return "allocation";
    case trace::PointKind::Free:
      return "free";
    case trace::PointKind::Sample:
      return "sample";
  }
  return "event";
}

class EventRows {
 public:
  EventRows(const RowHead& head, const std::function<void(const Block&)>& send)
      : head_(head), send_(send), block_(kEvents) {}

  void add(analyze::TrackOfTrace& track, const trace::EventBatch& batch) {
    const trace::Ranges& ranges = batch.ranges;
    trace::ValueCursor values(ranges.values);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const uint64_t begin = ranges.end[i] - ranges.duration[i];
      start_row(track, "range");
      add_name(track, ranges.class_id[i], values);
      block_.number(static_cast<uint64_t>(track.clock.to_realtime_ns(begin)));
      block_.number(track.clock.duration_ns(ranges.duration[i]));
      block_.number(ranges.depth.empty() ? 0 : ranges.depth[i]);
      end_row();
    }
    const trace::Points& points = batch.points;
    trace::ValueCursor point_values(points.values);
    for (size_t i = 0; i < points.size(); ++i) {
      start_row(track, kind_text(points.kind[i]));
      add_name(track, points.class_id[i], point_values);
      block_.number(static_cast<uint64_t>(track.clock.to_realtime_ns(points.time[i])));
      block_.number(0);
      block_.number(0);
      end_row();
    }
  }

  uint64_t finish() {
    flush();
    return rows_;
  }

 private:
  // What is known of a class in this block.
  struct Known {
    const trace::EventClass* event_class = nullptr;
    std::string name;
    bool has_text = false;  // its events have texts of their own
    uint32_t key = kNoKey;
    uint64_t block = 0;
  };

  void start_row(const analyze::TrackOfTrace& track, std::string_view kind) {
    block_.number(head_.trace);
    block_.number(head_.started);
    if (job_key_ == kNoKey) job_key_ = block_.key(kJob, head_.job);
    block_.by_key(job_key_);
    block_.number(static_cast<uint64_t>(int64_t{head_.rank}));
    if (kind.data() != kind_.data()) {
      kind_ = kind;
      kind_key_ = block_.key(kKind, kind);
    }
    block_.by_key(kind_key_);
    if (&track != track_) {
      track_ = &track;
      track_key_ = block_.key(kTrack, track.name());
    }
    block_.by_key(track_key_);
  }

  void add_name(const analyze::TrackOfTrace& track, uint32_t class_id, trace::ValueCursor& values) {
    Known& known = class_of(track, class_id);
    const auto& row = values.next(known.event_class);
    if (known.key == kNoKey || known.block != blocks_) {
      known.key = block_.key(kName, known.name);
      known.block = blocks_;
    }
    block_.by_key(known.key);
    block_.text(known.has_text ? std::string_view(text_ = trace::full_name(known.event_class, row)) : "");
  }

  Known& class_of(const analyze::TrackOfTrace& track, uint32_t class_id) {
    if (last_ != nullptr && last_writer_ == track.writer_number && last_class_ == class_id) return *last_;
    const auto [entry, is_new] = classes_.try_emplace({track.writer_number, class_id});
    Known& known = entry->second;
    if (is_new) {
      const auto found = track.writer->classes.find(class_id);
      if (found != track.writer->classes.end()) {
        known.event_class = &found->second;
        known.name = trace::shown_name(found->second);
        known.has_text = std::any_of(found->second.fields.begin(), found->second.fields.end(),
                                     [](const trace::Field& field) { return field.name.empty(); });
      } else {
        known.name = class_id == trace::kInlineName ? "" : "(no name)";
        known.has_text = class_id == trace::kInlineName;
      }
    }
    last_ = &known;
    last_writer_ = track.writer_number;
    last_class_ = class_id;
    return known;
  }

  void end_row() {
    block_.end_row();
    if (block_.rows() >= kRowsOfBlock || block_.bytes() >= kBytesOfBlock) flush();
  }

  void flush() {
    if (block_.rows() == 0) return;
    rows_ += block_.rows();
    send_(block_);
    block_.clear();
    ++blocks_;
    kind_ = {};
    track_ = nullptr;
    job_key_ = kNoKey;
  }

  RowHead head_;
  const std::function<void(const Block&)>& send_;
  Block block_;
  std::map<std::pair<uint32_t, uint32_t>, Known> classes_;  // by writer and class
  Known* last_ = nullptr;
  uint32_t last_writer_ = 0, last_class_ = 0;
  std::string_view kind_;
  const analyze::TrackOfTrace* track_ = nullptr;
  uint32_t kind_key_ = 0, track_key_ = 0, job_key_ = kNoKey;
  std::string text_;
  uint64_t rows_ = 0, blocks_ = 1;
};

}  // namespace

uint64_t add_events(const trace::Reader& reader, const RowHead& head, const std::function<void(const Block&)>& send) {
  analyze::EventWalk walk(reader);
  EventRows rows(head, send);
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kRangeValues | trace::kPoints |
          trace::kPointValues,
      [](const analyze::TrackOfTrace&) { return true; },
      [&](analyze::TrackOfTrace& track, const trace::EventBatch& batch) { rows.add(track, batch); });
  return rows.finish();
}

}  // namespace kymo::push
