#include "trace/event_decoder.h"

#include <cstring>
#include <utility>

#include "base/text.h"
#include "kymo/error.h"
#include "trace/event_head.h"
#include "trace/range_times.h"
#include "trace/reader.h"

namespace kymo::trace {

namespace {

// Characters and kinds are stored as columns of bytes.
template <typename T>
std::span<T> column_view(std::vector<T>& values) {
  return values;
}
std::span<uint8_t> column_view(std::vector<PointKind>& values) {
  return {reinterpret_cast<uint8_t*>(values.data()), values.size()};
}
std::span<uint8_t> column_view(std::string& text) { return {reinterpret_cast<uint8_t*>(text.data()), text.size()}; }

// Resizes without clearing first, so that a reused vector of the same size is not filled with zeros for nothing.
template <typename Container>
void decode_column(const ColumnsReader& columns, Column id, size_t count, bool wanted, Container& into) {
  into.resize(wanted ? count : 0);
  if (!into.empty()) columns.read(id, column_view(into));
}

// A column that is either absent or has one value per event.
template <typename Container>
void decode_optional(const ColumnsReader& columns, Column id, size_t count, bool wanted, Container& into) {
  decode_column(columns, id, columns.count(id) > 0 ? count : 0, wanted, into);
}

// A column that has its own length.
template <typename Container>
void decode_stream(const ColumnsReader& columns, Column id, uint32_t cap, bool wanted, Container& into) {
  const uint32_t count = columns.count(id);
  if (count > cap) throw Error(base::format("column {} has {} values", static_cast<unsigned>(id), count));
  decode_column(columns, id, count, wanted, into);
}

}  // namespace

void EventDecoder::decode(base::Bytes payload, const ChunkHeader& header, unsigned parts, EventBatch& into) {
  if (header.range_count > kMaxEvents || header.point_count > kMaxEvents) {
    throw Error(base::format("it announces {} ranges and {} points", header.range_count, header.point_count));
  }
  range_count_ = header.range_count;
  point_count_ = header.point_count;
  into.track = header.track;
  into.ring = header.ring;
  into.sequence_begin = header.sequence_begin;
  into.sequence_end = header.sequence_end;

  const EventPrefix prefix = read_prefix(payload);
  const base::Bytes head = find_head(payload, prefix);
  EventHead open = parts & kOpenStacks ? read_head(head) : EventHead{};
  into.opening = std::move(open.opening);
  into.closing = std::move(open.closing);

  base::ByteReader rest(payload.subspan(kEventPrefixBytes + head.size()));
  const base::Bytes directory = rest.take(prefix.directory_length);
  const ColumnsReader columns(directory, rest.take(rest.left()), scratch_);
  decode_ranges(columns, read_opening_count(head), parts, into.ranges);
  decode_points(columns, parts, into.points);
}

void EventDecoder::decode_ranges(const ColumnsReader& columns, size_t open_before, unsigned parts, Ranges& into) {
  const bool times = parts & kRangeTimes, depths = parts & kRangeDepths;
  decode_column(columns, Column::RangeDepth, range_count_, depths, into.depth);
  decode_column(columns, Column::RangeDepth, range_count_, times && !depths, depth_);
  decode_column(columns, Column::RangeDuration, range_count_, times, into.duration);
  decode_column(columns, Column::RangeGap, range_count_, times, into.end);
  if (times)
    to_ends(into.end, into.duration, depths ? into.depth : depth_, open_before, columns.base(Column::RangeGap));

  decode_column(columns, Column::RangeClass, range_count_, parts & kRangeClasses, into.class_id);
  decode_optional(columns, Column::RangeLane, range_count_, depths, into.lane);
  decode_optional(columns, Column::RangeCorrelation, range_count_, parts & kRangeCorrelations, into.correlation);
  decode_values(columns, kRangeValueColumns, parts & kRangeValues, into.values);
}

void EventDecoder::decode_points(const ColumnsReader& columns, unsigned parts, Points& into) {
  const bool wanted = parts & kPoints;
  decode_column(columns, Column::PointTime, point_count_, wanted, into.time);
  decode_column(columns, Column::PointKind, point_count_, wanted, into.kind);
  decode_column(columns, Column::PointClass, point_count_, wanted, into.class_id);
  decode_column(columns, Column::PointId, point_count_, wanted, into.id);
  decode_values(columns, kPointValueColumns, parts & kPointValues, into.values);
}

void EventDecoder::decode_values(const ColumnsReader& columns, const ValueColumns& ids, bool wanted, Values& into) {
  decode_stream(columns, ids.ints, kMaxValues, wanted, into.ints);
  decode_stream(columns, ids.doubles, kMaxValues, wanted, bits_);
  into.doubles.resize(bits_.size());
  if (!bits_.empty()) std::memcpy(into.doubles.data(), bits_.data(), bits_.size() * sizeof(double));
  decode_stream(columns, ids.text, kMaxTextBytes, wanted, into.text);
}

}  // namespace kymo::trace
