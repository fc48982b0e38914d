#include "trace/event_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/reader.h"

namespace kymo::trace {

// ---- Times of ranges -----------------------------------------------------------------------------------------------

uint64_t to_gaps(std::span<const uint64_t> end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
                 size_t open_before, std::span<uint64_t> gap) {
  gap[0] = 0;
  for (size_t i = 1; i < end.size(); ++i) {
    const uint64_t own = depth[i] >= depth[i - 1] ? duration[i] : 0;
    gap[i] = end[i] - end[i - 1] - own;
  }
  return end[0] - (depth[0] >= open_before ? duration[0] : 0);
}

void to_ends(std::span<uint64_t> gap_to_end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
             size_t open_before, uint64_t base) {
  if (gap_to_end.empty()) return;
  uint64_t end = base + gap_to_end[0] + (depth[0] >= open_before ? duration[0] : 0);
  gap_to_end[0] = end;
  for (size_t i = 1; i < gap_to_end.size(); ++i) {
    end += gap_to_end[i] + (depth[i] >= depth[i - 1] ? duration[i] : 0);
    gap_to_end[i] = end;
  }
}

// ---- Head ----------------------------------------------------------------------------------------------------------

namespace {

// Offsets in the prefix. The hash covers everything after it up to the end of the head.
constexpr size_t kHeadLength = 8;
constexpr size_t kDirectoryLength = 12;
constexpr size_t kHashed = 8;

constexpr size_t kSmallestOpenRange = 6;
constexpr size_t kSmallestSummary = 6;

void add(DepthSummary& summary, uint64_t start, uint64_t end, uint64_t duration) {
  summary.first = summary.count ? std::min(summary.first, start) : start;
  summary.last = std::max(summary.last, end);
  summary.count += 1;
  summary.total += duration;
  summary.longest = std::max(summary.longest, duration);
}

// A flat loop is the common case. It has its own function because it needs no table and no store per range.
DepthSummary summarise_one_depth(const Ranges& ranges) {
  DepthSummary summary{.depth = ranges.depth[0], .first = ~uint64_t{0}, .count = ranges.size()};
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t end = ranges.end[i], duration = ranges.duration[i];
    summary.first = std::min(summary.first, end - duration);
    summary.last = std::max(summary.last, end);
    summary.total += duration;
    summary.longest = std::max(summary.longest, duration);
  }
  return summary;
}

void write_open(base::ByteWriter& out, const std::vector<OpenRange>& stack) {
  out.varint(stack.size());
  for (const OpenRange& range : stack) {
    out.varint(range.start);
    out.varint(range.class_id);
    out.varint(range.correlation);
    out.varint(range.ints.size());
    for (uint64_t value : range.ints) out.varint(value);
    out.varint(range.doubles.size());
    for (double value : range.doubles) out.fixed(std::bit_cast<uint64_t>(value));
    out.string(range.text);
  }
}

size_t read_open_count(base::ByteReader& in) {
  const size_t count = in.count(kSmallestOpenRange);
  if (count > kMaxOpenRanges) throw Error(base::format("{} ranges are open at once", count));
  return count;
}

std::vector<OpenRange> read_open(base::ByteReader& in) {
  std::vector<OpenRange> stack(read_open_count(in));
  for (OpenRange& range : stack) {
    range.start = in.varint();
    range.class_id = in.varint_as<uint32_t>("the class of an open range");
    range.correlation = in.varint();
    range.ints.resize(in.count());
    for (uint64_t& value : range.ints) value = in.varint();
    range.doubles.resize(in.count(sizeof(double)));
    for (double& value : range.doubles) value = std::bit_cast<double>(in.fixed<uint64_t>());
    range.text = in.string();
  }
  return stack;
}

}  // namespace

std::vector<DepthSummary> summarise(const Ranges& ranges) {
  if (ranges.size() == 0) return {};
  const auto [shallowest, deepest] = std::minmax_element(ranges.depth.begin(), ranges.depth.end());
  if (*shallowest == *deepest) return {summarise_one_depth(ranges)};

  std::vector<DepthSummary> by_depth(*deepest + size_t{1});
  for (size_t i = 0; i < ranges.size(); ++i) {
    add(by_depth[ranges.depth[i]], ranges.end[i] - ranges.duration[i], ranges.end[i], ranges.duration[i]);
  }
  for (size_t depth = 0; depth < by_depth.size(); ++depth) by_depth[depth].depth = static_cast<uint16_t>(depth);
  std::erase_if(by_depth, [](const DepthSummary& summary) { return summary.count == 0; });
  return by_depth;
}

void store_prefix(std::byte* payload, size_t head_length, size_t directory_length) {
  base::store(payload + kHeadLength, static_cast<uint32_t>(head_length));
  base::store(payload + kDirectoryLength, static_cast<uint32_t>(directory_length));
  base::store(payload, base::hash({payload + kHashed, kEventPrefixBytes - kHashed + head_length}));
}

EventPrefix read_prefix(base::Bytes payload) {
  base::ByteReader in(payload);
  EventPrefix prefix;
  prefix.hash = in.fixed<uint64_t>();
  prefix.head_length = in.fixed<uint32_t>();
  prefix.directory_length = in.fixed<uint32_t>();
  if (prefix.head_length > kMaxHeadBytes) throw Error(base::format("its head has {} bytes", prefix.head_length));
  return prefix;
}

base::Bytes find_head(base::Bytes payload, const EventPrefix& prefix) {
  base::ByteReader in(payload);
  const base::Bytes front = in.take(kEventPrefixBytes + size_t{prefix.head_length});
  if (base::hash(front.subspan(kHashed)) != prefix.hash) throw Error("the hash of its head is wrong");
  return front.subspan(kEventPrefixBytes);
}

EventHead read_head(base::Bytes head) {
  base::ByteReader in(head);
  EventHead result;
  result.opening = read_open(in);
  result.closing = read_open(in);
  result.summaries.resize(in.count(kSmallestSummary));
  for (DepthSummary& summary : result.summaries) {
    summary.depth = in.varint_as<uint16_t>("the depth of a summary");
    summary.first = in.varint();
    summary.last = summary.first + in.varint();
    summary.count = in.varint();
    summary.total = in.varint();
    summary.longest = in.varint();
  }
  return result;
}

// ---- Encoder -------------------------------------------------------------------------------------------------------

namespace {

// Throws kymo::InvalidArgument if more ranges are open than a chunk allows.
void write_head(base::ByteWriter& out, const EventBatch& batch) {
  const size_t before = out.size();
  write_open(out, batch.opening);
  write_open(out, batch.closing);
  const std::vector<DepthSummary> summaries = summarise(batch.ranges);
  out.varint(summaries.size());
  for (const DepthSummary& summary : summaries) {
    out.varint(summary.depth);
    out.varint(summary.first);
    out.varint(summary.last - summary.first);
    out.varint(summary.count);
    out.varint(summary.total);
    out.varint(summary.longest);
  }
  if (batch.opening.size() > kMaxOpenRanges || batch.closing.size() > kMaxOpenRanges ||
      out.size() - before > kMaxHeadBytes) {
    throw InvalidArgument(base::format("{} ranges with {} bytes of values are open at once; a chunk takes {} and {}",
                                       std::max(batch.opening.size(), batch.closing.size()), out.size() - before,
                                       kMaxOpenRanges, kMaxHeadBytes));
  }
}

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

// ---- Decoder -------------------------------------------------------------------------------------------------------

namespace {

size_t read_opening_count(base::Bytes head) {
  base::ByteReader in(head);
  return read_open_count(in);
}

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
