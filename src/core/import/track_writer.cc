#include "import/track_writer.h"

#include <algorithm>
#include <utility>

#include "import/event_tables.h"

namespace kymo::import {
namespace {

using Kind = ImportedRecord::Kind;

}  // namespace

TrackRecords::TrackRecords(std::vector<EventBlock> blocks) : blocks_(std::move(blocks)) {
  const ImportedRecord* last = nullptr;
  for (EventBlock& block : blocks_) {
    if (block.records.empty()) continue;
    if (!block.is_sorted) block.check_order();
    is_sorted_ = is_sorted_ && block.is_sorted && (last == nullptr || !comes_first(block.records.front(), *last));
    last = &block.records.back();
  }
}

void TrackRecords::flatten() {
  if (std::exchange(is_flat_, true)) return;
  size_t count = 0;
  for (const EventBlock& block : blocks_) count += block.records.size();
  flat_.reserve(count);
  number_blocks();
  for (EventBlock& block : blocks_) {
    flat_.insert(flat_.end(), block.records.begin(), block.records.end());
    block.records = {};
  }
}

void TrackRecords::number_blocks() {
  for (uint32_t i = 0; i < blocks_.size(); ++i)
    for (ImportedRecord& record : blocks_[i].records) record.block = i;
}

uint64_t TrackRecords::pair_ends() {
  if (std::none_of(blocks_.begin(), blocks_.end(), [](const EventBlock& block) { return block.has_parts; })) return 0;
  flatten();
  std::vector<uint32_t> parts;
  for (uint32_t i = 0; i < flat_.size(); ++i)
    if (flat_[i].kind == Kind::Begin || flat_[i].kind == Kind::End) parts.push_back(i);
  std::stable_sort(parts.begin(), parts.end(), [&](uint32_t a, uint32_t b) { return flat_[a].start < flat_[b].start; });
  std::vector<uint32_t> open;
  uint64_t unmatched = 0;
  for (const uint32_t part : parts) {
    ImportedRecord& record = flat_[part];
    if (record.kind == Kind::Begin) {
      record.kind = Kind::Range;
      record.end = ImportedRecord::kNever;
      open.push_back(part);
    } else if (!open.empty()) {
      flat_[open.back()].end = record.start;
      open.pop_back();
    } else {
      ++unmatched;
    }
  }
  std::erase_if(flat_,
                [](const ImportedRecord& record) { return record.kind == Kind::End || record.kind == Kind::Dropped; });
  return unmatched;
}

void TrackRecords::sort() {
  if (is_flat_) is_sorted_ = std::is_sorted(flat_.begin(), flat_.end(), comes_first);
  if (std::exchange(is_sorted_, true)) return;
  flatten();
  std::stable_sort(flat_.begin(), flat_.end(), comes_first);
}

std::vector<EventBlock> TrackRecords::take_blocks() {
  for (const ImportedRecord& record : flat_) blocks_[record.block].records.push_back(record);
  flat_ = {};
  is_flat_ = false;
  for (EventBlock& block : blocks_) block.has_parts = false;
  return std::move(blocks_);
}

namespace {

using Kind = ImportedRecord::Kind;

constexpr size_t kEventsPerChunk = 32'768;
constexpr size_t kTextPerChunk = 8 << 20;
constexpr size_t kTextOfOpen = 2 << 20;  // max size of the texts of open ranges; they are written again at their ends
constexpr size_t kMostOpen = 60'000;
constexpr uint16_t kMostLanes = 1024;  // if a track needs more, the last lane takes the rest
constexpr int64_t kNever = ImportedRecord::kNever;
constexpr uint8_t kOnLane = 1;  // in ImportedRecord::point of a range: it is not in lane 0

}  // namespace

void TrackWriter::write(TrackRecords& records) {
  records_ = &records;
  place_ranges();
  write_row();
  write_lanes();
}

// Finds the ranges that do not nest in lane 0, and their lanes.
void TrackWriter::place_ranges() {
  std::vector<std::vector<int64_t>> open(1);  // by lane: the ends of what is open, outermost first
  records_->for_each([&](ImportedRecord& record) {
    if (record.kind != Kind::Range) return;
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
        lanes_.push_back({&record, lane, static_cast<uint16_t>(std::min<size_t>(ends.size(), UINT16_MAX))});
      }
      ends.push_back(record.end);
      break;
    }
  });
}

int64_t TrackWriter::last_end() {
  if (last_end_) return *last_end_;
  int64_t last = 0;
  records_->for_each([&](const ImportedRecord& record) {
    last = std::max(last, record.start);
    if (record.kind == Kind::Range && record.end != kNever) last = std::max(last, record.end);
  });
  last_end_ = last;
  return last;
}

void TrackWriter::write_row() {
  records_->for_each([&](const ImportedRecord& record) {
    if (record.kind == Kind::Point) {
      end_before(record.start, false);
      append_point(record);
    } else if (record.point != kOnLane) {
      end_before(record.start, true);
      open_.push_back(&record);
    }
    flush_if_large();
  });
  end_before(kNever, false);
  if (batch_.ranges.size() + batch_.points.size() != 0 || batch_.opening.size() != open_.size()) flush();
}

// What is still open stays open: the last chunk of a track says what never ended.
void TrackWriter::write_lanes() {
  if (lanes_.empty()) return;
  // By their ends; what is inside another range comes first.
  std::stable_sort(lanes_.begin(), lanes_.end(), [](const Placed& a, const Placed& b) {
    return a.record->end != b.record->end ? a.record->end < b.record->end : a.depth > b.depth;
  });
  for (const Placed& placed : lanes_) {
    append_range(*placed.record, placed.depth, placed.lane);
    flush_if_large();
  }
  if (batch_.ranges.size() != 0) flush();
}

// Ends the innermost open ranges that end before `time`, or at it.
void TrackWriter::end_before(int64_t time, bool also_at) {
  while (!open_.empty()) {
    const ImportedRecord& record = *open_.back();
    if (record.end == kNever || record.end > time || (record.end == time && !also_at)) return;
    open_.pop_back();
    append_range(record, static_cast<uint16_t>(std::min<size_t>(open_.size(), UINT16_MAX)), 0);
    flush_if_large();
  }
}

void TrackWriter::append_range(const ImportedRecord& record, uint16_t depth, uint16_t lane) {
  trace::Ranges& ranges = batch_.ranges;
  const ClassNumbers::Known& of = class_of(record);
  ranges.end.push_back(ticks(record.end));
  ranges.duration.push_back(static_cast<uint64_t>(record.end - record.start));
  ranges.class_id.push_back(of.id);
  ranges.depth.push_back(depth);
  if (lane != 0) ranges.lane.push_back(lane);  // lane 0 has chunks of its own
  const uint64_t correlation = append_values(record, of, ranges.values);
  if (correlation != 0 && ranges.correlation.empty()) ranges.correlation.resize(ranges.size() - 1);
  if (!ranges.correlation.empty() || correlation != 0) ranges.correlation.push_back(correlation);
}

void TrackWriter::append_point(const ImportedRecord& record) {
  const ClassNumbers::Known& of = class_of(record);
  batch_.points.time.push_back(ticks(record.start));
  batch_.points.kind.push_back(static_cast<trace::PointKind>(record.point));
  batch_.points.class_id.push_back(of.id);
  batch_.points.id.push_back(static_cast<uint64_t>(record.end));
  append_values(record, of, batch_.points.values);
}

// Returns the correlation.
uint64_t TrackWriter::append_values(const ImportedRecord& record, const ClassNumbers::Known& of, trace::Values& to) {
  const EventTables& tables = records_->tables(record);
  const char* at = records_->values(record);
  const uint64_t correlation = record.has_correlation ? take_varint(at) : 0;
  const auto add_text = [&](std::string_view text) {
    to.ints.push_back(text.size());
    to.text += text;
  };
  if (of.has_name_in_value) add_text(tables.texts[tables.at(record.class_id).name]);
  for (const trace::FieldType type : *of.types) {
    switch (type) {
      case trace::FieldType::Double:
        to.doubles.push_back(take_double(at));
        break;
      case trace::FieldType::String:
        add_text(tables.texts[static_cast<uint32_t>(take_varint(at))]);
        break;
      case trace::FieldType::Int:
        to.ints.push_back(from_zigzag(take_varint(at)));
        break;
      default:
        to.ints.push_back(take_varint(at));
    }
  }
  return correlation;
}

// Its first event comes after the class.
const ClassNumbers::Known& TrackWriter::class_of(const ImportedRecord& record) {
  ClassNumbers::Known& known = target_.classes.of(records_->tables(record), record.class_id);
  if (known.written_by == target_.process) return known;
  known.written_by = target_.process;
  std::vector<bool>& written = target_.written;
  if (known.id >= written.size()) written.resize(std::max<size_t>(target_.classes.size(), known.id) + 1);
  if (!written[known.id]) {
    written[known.id] = true;
    new_classes_.push_back(target_.classes.at(known.id));
  }
  return known;
}

trace::OpenRange TrackWriter::open_range(const ImportedRecord& record, size_t& text_left) {
  trace::Values values;
  trace::OpenRange open;
  const ClassNumbers::Known& of = class_of(record);
  open.start = ticks(record.start);
  open.class_id = of.id;
  open.correlation = append_values(record, of, values);
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
  size_t text_left = kTextOfOpen;
  batch_.closing.clear();
  for (const ImportedRecord* const record : open_)
    if (batch_.closing.size() < kMostOpen) batch_.closing.push_back(open_range(*record, text_left));
  batch_.sequence_end = batch_.sequence_begin + batch_.ranges.size() + batch_.points.size();
  target_.queue.put(target_.id, new_classes_, batch_);
}

}  // namespace kymo::import
