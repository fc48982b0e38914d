#include "trace/event_head.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/format.h"

namespace kymo::trace {

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

size_t read_opening_count(base::Bytes head) {
  base::ByteReader in(head);
  return read_open_count(in);
}

}  // namespace kymo::trace
