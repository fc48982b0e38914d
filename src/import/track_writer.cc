#include "import/track_writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "import/value_bytes.h"

namespace kymo::import {
namespace {

using Kind = ImportedRecord::Kind;

constexpr size_t kEventsPerChunk = 32'768;
constexpr size_t kTextPerChunk = 8 << 20;
constexpr size_t kTextOfOpen = 2 << 20;  // max size of the texts of open ranges; they are written again at their ends
constexpr size_t kMostOpen = 60'000;
constexpr uint16_t kMostLanes = 1024;  // if a track needs more, the last lane takes the rest
constexpr int64_t kNever = ImportedRecord::kNever;
constexpr uint8_t kOnLane = 1;  // in ImportedRecord::point of a range: it is not in lane 0

// Outer ranges before inner ones, and a range before the points at its start.
bool comes_first(const ImportedRecord& a, const ImportedRecord& b) {
  if (a.start != b.start) return a.start < b.start;
  const bool a_is_range = a.kind == Kind::Range, b_is_range = b.kind == Kind::Range;
  if (a_is_range != b_is_range) return a_is_range;
  return a_is_range && a.end > b.end;
}

}  // namespace

void TrackWriter::write(TrackEvents& events) {
  events_ = &events;
  pair_ends(events.records);
  std::vector<ImportedRecord>& records = events.records;
  if (!std::is_sorted(records.begin(), records.end(), comes_first))
    std::stable_sort(records.begin(), records.end(), comes_first);
  place_ranges();
  write_row();
  write_lanes();
}

// A begin without an end becomes a range that never ends.
void TrackWriter::pair_ends(std::vector<ImportedRecord>& records) {
  const auto is_part = [](const ImportedRecord& record) {
    return record.kind == Kind::Begin || record.kind == Kind::End;
  };
  if (std::none_of(records.begin(), records.end(), is_part)) return;
  std::vector<uint32_t> parts;
  for (uint32_t i = 0; i < records.size(); ++i)
    if (is_part(records[i])) parts.push_back(i);
  std::stable_sort(parts.begin(), parts.end(),
                   [&](uint32_t a, uint32_t b) { return records[a].start < records[b].start; });
  std::vector<uint32_t> open;
  for (const uint32_t part : parts) {
    ImportedRecord& record = records[part];
    if (record.kind == Kind::Begin) {
      record.kind = Kind::Range;
      record.end = kNever;
      open.push_back(part);
    } else if (!open.empty()) {
      records[open.back()].end = record.start;
      open.pop_back();
    }
  }
  std::erase_if(records, [](const ImportedRecord& record) { return record.kind == Kind::End; });
}

// Finds the ranges that do not nest in lane 0, and their lanes.
void TrackWriter::place_ranges() {
  std::vector<std::vector<int64_t>> open(1);  // by lane: the ends of what is open, outermost first
  std::vector<ImportedRecord>& records = events_->records;
  for (uint32_t i = 0; i < records.size(); ++i) {
    ImportedRecord& record = records[i];
    if (record.kind != Kind::Range) continue;
    uint16_t lane = record.point;
    record.point = 0;
    for (;; ++lane) {
      if (lane >= open.size()) open.resize(lane + size_t{1});
      std::vector<int64_t>& ends = open[lane];
      while (!ends.empty() && ends.back() <= record.start) ends.pop_back();
      const bool fits = ends.empty() || record.end <= ends.back();
      if (!fits && record.end == kNever) record.end = last_end();  // only what nests can stay open
      if (!fits && lane + 1 < kMostLanes) continue;
      if (lane > 0) {
        record.point = kOnLane;
        lanes_.push_back({i, lane, static_cast<uint16_t>(std::min<size_t>(ends.size(), UINT16_MAX))});
      }
      ends.push_back(record.end);
      break;
    }
  }
}

int64_t TrackWriter::last_end() {
  if (last_end_) return *last_end_;
  int64_t last = 0;
  for (const ImportedRecord& record : events_->records) {
    last = std::max(last, record.start);
    if (record.kind == Kind::Range && record.end != kNever) last = std::max(last, record.end);
  }
  last_end_ = last;
  return last;
}

void TrackWriter::write_row() {
  const std::vector<ImportedRecord>& records = events_->records;
  for (uint32_t i = 0; i < records.size(); ++i) {
    const ImportedRecord& record = records[i];
    if (record.kind == Kind::Point) {
      end_before(record.start, false);
      append_point(record);
    } else if (record.point != kOnLane) {
      end_before(record.start, true);
      open_.push_back(i);
    }
    flush_if_large();
  }
  end_before(kNever, false);
  if (batch_.ranges.size() + batch_.points.size() != 0 || batch_.opening.size() != open_.size()) flush();
}

// What is still open stays open: the last chunk of a track says what never ended.
void TrackWriter::write_lanes() {
  if (lanes_.empty()) return;
  const std::vector<ImportedRecord>& records = events_->records;
  // By their ends; what is inside another range comes first.
  std::stable_sort(lanes_.begin(), lanes_.end(), [&](const Placed& a, const Placed& b) {
    const int64_t a_end = records[a.record].end, b_end = records[b.record].end;
    return a_end != b_end ? a_end < b_end : a.depth > b.depth;
  });
  for (const Placed& placed : lanes_) {
    append_range(records[placed.record], placed.depth, placed.lane);
    flush_if_large();
  }
  if (batch_.ranges.size() != 0) flush();
}

// Ends the innermost open ranges that end before `time`, or at it.
void TrackWriter::end_before(int64_t time, bool also_at) {
  while (!open_.empty()) {
    const ImportedRecord& record = events_->records[open_.back()];
    if (record.end == kNever || record.end > time || (record.end == time && !also_at)) return;
    open_.pop_back();
    append_range(record, static_cast<uint16_t>(std::min<size_t>(open_.size(), UINT16_MAX)), 0);
    flush_if_large();
  }
}

void TrackWriter::append_range(const ImportedRecord& record, uint16_t depth, uint16_t lane) {
  trace::Ranges& ranges = batch_.ranges;
  need_class(record.class_id);
  ranges.end.push_back(ticks(record.end));
  ranges.duration.push_back(static_cast<uint64_t>(record.end - record.start));
  ranges.class_id.push_back(record.class_id);
  ranges.depth.push_back(depth);
  if (lane != 0) ranges.lane.push_back(lane);  // lane 0 has chunks of its own
  const uint64_t correlation = append_values(record, ranges.values);
  if (correlation != 0 && ranges.correlation.empty()) ranges.correlation.resize(ranges.size() - 1);
  if (!ranges.correlation.empty() || correlation != 0) ranges.correlation.push_back(correlation);
}

void TrackWriter::append_point(const ImportedRecord& record) {
  need_class(record.class_id);
  batch_.points.time.push_back(ticks(record.start));
  batch_.points.kind.push_back(static_cast<trace::PointKind>(record.point));
  batch_.points.class_id.push_back(record.class_id);
  batch_.points.id.push_back(static_cast<uint64_t>(record.end));
  append_values(record, batch_.points.values);
}

// Returns the correlation.
uint64_t TrackWriter::append_values(const ImportedRecord& record, trace::Values& to) {
  const char* at = events_->bytes.data() + record.values;
  const uint64_t correlation = record.has_correlation ? take_varint(at) : 0;
  for (const trace::Field& field : target_.classes[record.class_id - 1].fields) {
    switch (field.type) {
      case trace::FieldType::Double:
        to.doubles.push_back(take_double(at));
        break;
      case trace::FieldType::String: {
        const std::string_view text = target_.texts[static_cast<uint32_t>(take_varint(at))];
        to.ints.push_back(text.size());
        to.text += text;
        break;
      }
      case trace::FieldType::Int:
        to.ints.push_back(from_zigzag(take_varint(at)));
        break;
      default:
        to.ints.push_back(take_varint(at));
    }
  }
  return correlation;
}

void TrackWriter::need_class(uint32_t class_id) {
  if (class_id >= target_.written.size())
    target_.written.resize(std::max<size_t>(target_.classes.size(), class_id) + 1);
  if (target_.written[class_id]) return;
  target_.written[class_id] = true;
  new_classes_.push_back(target_.classes[class_id - 1]);
}

trace::OpenRange TrackWriter::open_range(const ImportedRecord& record, size_t& text_left) {
  trace::Values values;
  trace::OpenRange open;
  need_class(record.class_id);
  open.start = ticks(record.start);
  open.class_id = record.class_id;
  open.correlation = append_values(record, values);
  if (values.text.size() <= text_left) {
    text_left -= values.text.size();
    open.ints = std::move(values.ints);
    open.doubles = std::move(values.doubles);
    open.text = std::move(values.text);
  }
  return open;
}

void TrackWriter::flush_if_large() {
  if (batch_.ranges.size() + batch_.points.size() >= kEventsPerChunk ||
      batch_.ranges.values.text.size() + batch_.points.values.text.size() >= kTextPerChunk)
    flush();
}

void TrackWriter::flush() {
  constexpr size_t kClassesPerChunk = 512;
  size_t text_left = kTextOfOpen;
  batch_.closing.clear();
  for (const uint32_t record : open_)
    if (batch_.closing.size() < kMostOpen) batch_.closing.push_back(open_range(events_->records[record], text_left));
  batch_.sequence_end = batch_.sequence_begin + batch_.ranges.size() + batch_.points.size();
  const std::span<const trace::EventClass> classes(new_classes_);
  for (size_t at = 0; at < classes.size(); at += kClassesPerChunk)
    target_.writer.classes(target_.id, classes.subspan(at, std::min(kClassesPerChunk, classes.size() - at)));
  new_classes_.clear();
  target_.writer.events(target_.id, batch_);
  batch_.opening = std::move(batch_.closing);
  batch_.sequence_begin = batch_.sequence_end;
  batch_.ranges = {};
  batch_.points = {};
}

}  // namespace kymo::import
