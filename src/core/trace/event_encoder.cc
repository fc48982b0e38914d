#include "trace/event_encoder.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/event_head.h"
#include "trace/range_times.h"

namespace kymo::trace {

namespace {

void check(const Values& values) {
  if (values.ints.size() > kMaxValues || values.doubles.size() > kMaxValues || values.text.size() > kMaxTextBytes) {
    throw InvalidArgument(base::format("a batch has {} ints, {} doubles and {} bytes of text: write it in parts",
                                       values.ints.size(), values.doubles.size(), values.text.size()));
  }
}

void check(const EventBatch& batch) {
  const Ranges& ranges = batch.ranges;
  const Points& points = batch.points;
  const size_t n = ranges.size(), m = points.size();
  const auto absent_or_n = [n](size_t size) { return size == 0 || size == n; };
  if (ranges.duration.size() != n || ranges.class_id.size() != n || ranges.depth.size() != n ||
      !absent_or_n(ranges.lane.size()) || !absent_or_n(ranges.correlation.size())) {
    throw InvalidArgument(base::format("the arrays of a batch of {} ranges differ in length", n));
  }
  if (points.kind.size() != m || points.class_id.size() != m || points.id.size() != m) {
    throw InvalidArgument(base::format("the arrays of a batch of {} points differ in length", m));
  }
  if (n > kMaxEvents || m > kMaxEvents) {
    throw InvalidArgument(base::format(
        "a batch has {} ranges and {} points, a chunk takes {} of each: write it in parts", n, m, kMaxEvents));
  }
  check(ranges.values);
  check(points.values);
}

template <typename Byte>
std::span<const uint8_t> bytes_of(const Byte* data, size_t size) {
  static_assert(sizeof(Byte) == 1);
  return {reinterpret_cast<const uint8_t*>(data), size};
}

}  // namespace

BatchSpan span_of(const EventBatch& batch) {
  BatchSpan span{~uint64_t{0}, 0};
  const auto include = [&span](uint64_t time) {
    span.first = std::min(span.first, time);
    span.last = std::max(span.last, time);
  };
  const Ranges& ranges = batch.ranges;
  for (size_t i = 0; i < ranges.size(); ++i) {
    include(ranges.end[i] - ranges.duration[i]);
    include(ranges.end[i]);
  }
  for (uint64_t time : batch.points.time) include(time);
  for (size_t i = 0; i < batch.closing.size(); ++i) {
    const uint64_t start = batch.closing[i].start;
    const bool was_open = i < batch.opening.size() && batch.opening[i].start == start;
    if (!was_open) include(start);
  }
  return span.first <= span.last ? span : BatchSpan{};
}

void EventEncoder::encode(const EventBatch& batch, ChunkHeader& header, base::ByteWriter& out) {
  check(batch);
  columns_.clear();
  add_ranges(batch);
  add_points(batch.points);

  const size_t begin = out.size();
  out.extend(kEventPrefixBytes);
  write_head(out, batch);
  const size_t head_end = out.size();
  columns_.write_directory(out);
  const size_t directory_end = out.size();
  out.append(columns_.planes());
  store_prefix(out.data() + begin, head_end - begin - kEventPrefixBytes, directory_end - head_end);

  const BatchSpan span = span_of(batch);
  header.first = span.first;
  header.last = span.last;
  header.range_count = static_cast<uint32_t>(batch.ranges.size());
  header.point_count = static_cast<uint32_t>(batch.points.size());
  header.track = batch.track;
  header.ring = batch.ring;
  header.sequence_begin = batch.sequence_begin;
  header.sequence_end = batch.sequence_end;
}

void EventEncoder::add_ranges(const EventBatch& batch) {
  const Ranges& ranges = batch.ranges;
  if (ranges.size() > 0) {
    gap_.resize(ranges.size());
    const uint64_t base = to_gaps(ranges.end, ranges.duration, ranges.depth, batch.opening.size(), gap_);
    columns_.add<uint64_t>(Column::RangeDuration, ranges.duration, Try::Plain);
    columns_.add<uint64_t>(Column::RangeGap, gap_, Try::Sign, base);
    columns_.add<uint32_t>(Column::RangeClass, ranges.class_id, Try::Plain);
    columns_.add<uint16_t>(Column::RangeDepth, ranges.depth, Try::Plain);
    columns_.add<uint16_t>(Column::RangeLane, ranges.lane, Try::Plain);
    columns_.add<uint64_t>(Column::RangeCorrelation, ranges.correlation, Try::Everything);
  }
  add_values(kRangeValueColumns, ranges.values);
}

void EventEncoder::add_points(const Points& points) {
  columns_.add<uint64_t>(Column::PointTime, points.time, Try::Everything);
  columns_.add<uint8_t>(Column::PointKind, bytes_of(points.kind.data(), points.kind.size()), Try::Plain);
  columns_.add<uint32_t>(Column::PointClass, points.class_id, Try::Plain);
  columns_.add<uint64_t>(Column::PointId, points.id, Try::Everything);
  add_values(kPointValueColumns, points.values);
}

void EventEncoder::add_values(const ValueColumns& ids, const Values& values) {
  columns_.add<uint64_t>(ids.ints, values.ints, Try::Everything);
  if (!values.doubles.empty()) {
    bits_.resize(values.doubles.size());
    std::memcpy(bits_.data(), values.doubles.data(), bits_.size() * sizeof(double));
    columns_.add<uint64_t>(ids.doubles, bits_, Try::Everything);
  }
  columns_.add<uint8_t>(ids.text, bytes_of(values.text.data(), values.text.size()), Try::Plain);
}

}  // namespace kymo::trace
