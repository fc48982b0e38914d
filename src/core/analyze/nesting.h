// The self times of the ranges of one track, for every command: each moment belongs to the innermost range, which is
// the one that began last. So the self times of a track add up to the time that it was inside of ranges.
//
// Ranges of lane 0 nest. A chunk has them sorted by their ends, so that one pass backwards knows the range around each:
// Nesting. It costs a few instructions for each range, and keeps nothing between chunks except the open ranges. Ranges
// of other lanes overlap others, and so may those below the deepest depth of a file. A track that has such ranges is
// read a second time. For self times alone, they stream by: self_times(), which costs a heap and innermost.h.
//
// nest_by_time() also finds the range around each one: of those that began before it and have most of it, the one that
// began last. So a step that ends a nanosecond after the next one has begun is not around that one, and a range that
// ends a nanosecond after its step is inside of it. It needs all ranges of the track in memory.
//
// Nesting and nest_by_time() hand their ranges to Sums, which has an Owner: what time is counted for, such as a name or
// a path.
//
//   Owner outside();                                                 // around the outermost ranges
//   Owner find(Owner around, uint32_t number, size_t depth);         // of a range, by the number of its name
//   Owner add(Owner around, uint32_t number, size_t depth, uint64_t ticks);    // the same, and counts it as ended
//   bool counts(Owner around, Owner owner);                          // false: its time stays in the range around it
//   void add_unfinished(Owner around, Owner owner, uint32_t number, uint64_t ticks, uint64_t inside);
//   Owner visit(Owner around, const TimedRange& range, size_t depth);           // for nest_by_time(), by begin
//   void take(Owner owner, const TimedRange& range, TickSpan part);             // … a part of its self time
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "analyze/decode_ahead.h"
#include "analyze/innermost.h"
#include "trace/clock.h"
#include "trace/model.h"

namespace kymo::analyze {

struct TickSpan {
  uint64_t begin = 0, end = 0;
  uint64_t ticks() const { return end - begin; }
};

struct TimedRange {
  uint64_t begin = 0, end = 0;  // ticks
  uint32_t number = 0;          // of its name
  uint16_t depth = 0;           // in its lane
  bool unfinished = false;
  bool is_nested = false;  // its depth says what is around it, among the ranges that have this too
  uint64_t ticks() const { return end - begin; }
};

// Ranges of lane 0 nest by their depths, except those below the deepest one of a file.
inline bool nests_by_depth(uint16_t lane, uint16_t depth) {
  return lane == 0 && depth != std::numeric_limits<uint16_t>::max();
}

// The length of a range that began at `start` and has not ended, in ticks: until its process was last seen alive, or
// until the last event of its track, if the clock cannot be converted. `alive_ns` may be null.
inline uint64_t unfinished_ticks(const trace::ClockMap& clock, uint64_t start, uint64_t last, const int64_t* alive_ns) {
  if (!clock.usable() || alive_ns == nullptr) return last - std::min(last, start);
  constexpr uint64_t kManyTicks = uint64_t{1} << 40;  // a single tick would lose the fraction
  const double ns_per_tick = clock.to_ns(kManyTicks) / static_cast<double>(kManyTicks);
  const double ns = static_cast<double>(*alive_ns - std::min(*alive_ns, clock.to_monotonic_ns(start)));
  const double ticks = ns / ns_per_tick;  // of a forged clock it may be anything
  return ticks > 0 ? static_cast<uint64_t>(std::min(ticks, 0x1p62)) : 0;
}

inline std::vector<trace::EventChunk> chunks_of(const trace::Reader& reader,
                                                const std::pair<trace::WriterId, uint32_t>& track) {
  std::vector<trace::EventChunk> chunks;
  for (const trace::EventChunk& chunk : reader.event_chunks())
    if (chunk.writer == track.first && chunk.track == track.second && chunk.range_count != 0) chunks.push_back(chunk);
  return chunks;
}

// The ranges of a track that nest by their depths. Use one object for each track.
template <typename Sums>
class Nesting {
 public:
  using Owner = typename Sums::Owner;

  // The next chunk of the track in file order. `numbers` are those of its ranges; `number_of(open range)` gives that of
  // an open one. `last` is the time of its last event.
  template <typename NumberOf>
  void add(const trace::EventBatch& batch, std::span<const uint32_t> numbers, uint64_t last, NumberOf&& number_of,
           Sums& sums) {
    end_lost(batch.opening, number_of, sums);
    keep_open(batch.closing, number_of, sums);
    last_ = std::max(last_, last);
    if (overlaps_) return;
    const uint16_t deepest = batch.ranges.depth.empty()
                                 ? uint16_t{0}
                                 : *std::max_element(batch.ranges.depth.begin(), batch.ranges.depth.end());
    overlaps_ = std::ranges::any_of(batch.ranges.lane, [](uint16_t lane) { return lane != 0; }) ||
                deepest == std::numeric_limits<uint16_t>::max();
    if (!overlaps_) add_nested(batch.ranges, numbers, deepest, sums);
  }

  // There are no more chunks. The ranges that are open are unfinished; `ticks_of(start)` says how long they lasted.
  template <typename TicksOf>
  void finish(TicksOf&& ticks_of, Sums& sums) {
    end_open(0, ticks_of, sums);
  }

  // True: nest_by_time() must replace what Sums has.
  bool overlaps() const { return overlaps_; }
  const std::vector<TimedRange>& unfinished() const { return unfinished_; }
  uint64_t last() const { return last_; }

 private:
  struct Open {
    uint64_t start;
    uint32_t class_id;
    uint32_t number;
    Owner owner;
    uint64_t inside = 0;  // ticks of the ranges directly inside that have ended
  };

  static bool is_same(const Open& open, const trace::OpenRange& range) {
    return open.start == range.start && open.class_id == range.class_id;
  }

  Owner around(size_t depth, Sums& sums) const { return depth == 0 ? sums.outside() : open_[depth - 1].owner; }

  template <typename NumberOf>
  void push(const trace::OpenRange& range, NumberOf&& number_of, Sums& sums) {
    const uint32_t number = number_of(range);
    const Owner owner = sums.find(around(open_.size(), sums), number, open_.size());
    open_.push_back({range.start, range.class_id, number, owner, 0});
  }

  // Ranges that were open after the previous chunk and are not open now ended in a part of the track that is missing.
  // They lasted at least until the last event before it.
  template <typename NumberOf>
  void end_lost(std::span<const trace::OpenRange> opening, NumberOf&& number_of, Sums& sums) {
    size_t same = 0;
    while (same < std::min(open_.size(), opening.size()) && is_same(open_[same], opening[same])) ++same;
    end_open(
        same, [this](uint64_t start) { return last_ - std::min(last_, start); }, sums);
    for (; same < opening.size(); ++same) push(opening[same], number_of, sums);
  }

  // What was open and is not after this chunk ended in it.
  template <typename NumberOf>
  void keep_open(std::span<const trace::OpenRange> closing, NumberOf&& number_of, Sums& sums) {
    size_t same = 0;
    while (same < std::min(open_.size(), closing.size()) && is_same(open_[same], closing[same])) ++same;
    open_.resize(same, Open{});
    for (; same < closing.size(); ++same) push(closing[same], number_of, sums);
  }

  template <typename TicksOf>
  void end_open(size_t keep, TicksOf&& ticks_of, Sums& sums) {
    while (open_.size() > keep) {
      const Open open = open_.back();
      open_.pop_back();
      const uint64_t ticks = std::min(ticks_of(open.start), std::numeric_limits<uint64_t>::max() - open.start);
      const Owner parent = around(open_.size(), sums);
      unfinished_.push_back({open.start, open.start + ticks, open.number,
                             static_cast<uint16_t>(std::min<size_t>(open_.size(), UINT16_MAX)), true,
                             open_.size() < UINT16_MAX});
      sums.add_unfinished(parent, open.owner, open.number, ticks, open.inside);
      if (!open_.empty() && sums.counts(parent, open.owner)) open_.back().inside += ticks;
    }
  }

  // The hot loop: backwards, a range comes before what is inside it.
  void add_nested(const trace::Ranges& ranges, std::span<const uint32_t> numbers, size_t deepest, Sums& sums) {
    around_.resize(std::max(deepest + 2, open_.size() + 1));
    around_[0] = sums.outside();
    for (size_t i = 0; i < open_.size(); ++i) around_[i + 1] = open_[i].owner;
    size_t depth = open_.size();      // so many are open
    size_t untouched = open_.size();  // of those, so many stay open after the chunk
    Owner* const around = around_.data();
    const uint16_t* const depths = ranges.depth.data();
    const uint64_t* const durations = ranges.duration.data();
    for (size_t i = ranges.size(); i-- > 0;) {
      const size_t at = depths[i];
      if (at > depth) [[unlikely]]  // the ranges around it are not in the chunk
        std::fill(around + depth + 1, around + at + 1, around[depth]);
      const Owner parent = around[at];
      const Owner owner = sums.add(parent, numbers[i], at, durations[i]);
      around[at + 1] = owner;
      depth = at + 1;
      if (at <= untouched) {
        untouched = at;
        if (at != 0 && sums.counts(parent, owner)) open_[at - 1].inside += durations[i];
      }
    }
  }

  std::vector<Open> open_;  // after the last chunk, outermost first
  std::vector<TimedRange> unfinished_;
  uint64_t last_ = 0;
  bool overlaps_ = false;
  std::vector<Owner> around_;  // by depth, of the current chunk: the owner around a range there
};

// The ranges of one track by time: the last one to end first, and a range before what is inside it.
//
// Chunks may overlap in time, because each lane is in order on its own. So a range waits until all chunks are read that
// have later ends. The ranges of a chunk are a run, which is mostly in order already; runs are merged.
class RangesByTime {
 public:
  template <typename Decode, typename NumbersOf, typename Visit>
  static void visit(std::vector<trace::EventChunk> chunks, const std::vector<TimedRange>& unfinished, Decode&& decode,
                    NumbersOf&& numbers_of, Visit&& visit) {
    std::stable_sort(chunks.begin(), chunks.end(), [](const auto& a, const auto& b) { return a.last > b.last; });
    RangesByTime waiting;
    waiting.push(unfinished);
    DecodeAhead ahead(chunks, decode, 1);
    while (const DecodeAhead::Item* const item = ahead.next()) {
      if (!item->error.empty()) continue;  // the first pass has reported it
      while (!waiting.runs_.empty() && waiting.runs_.front().back().end > item->chunk->last) visit(waiting.pop());
      const trace::Ranges& ranges = item->batch.ranges;
      const std::span<const uint32_t> numbers = numbers_of(item->batch);
      Run run;
      run.reserve(ranges.size());
      for (size_t i = 0; i < ranges.size(); ++i) {
        const uint64_t end = ranges.end[i];
        run.push_back({end - std::min(end, ranges.duration[i]), end, numbers[i], ranges.depth[i]});
      }
      waiting.push(std::move(run));
    }
    while (!waiting.runs_.empty()) visit(waiting.pop());
  }

 private:
  using Run = std::vector<TimedRange>;  // the next one is at the end; never empty

  static bool comes_later(const TimedRange& a, const TimedRange& b) {
    if (a.end != b.end) return a.end < b.end;
    if (a.begin != b.begin) return a.begin > b.begin;
    return a.depth > b.depth;
  }
  static bool is_later(const Run& a, const Run& b) { return comes_later(a.back(), b.back()); }

  void push(Run run) {
    if (run.empty()) return;
    if (!std::is_sorted(run.begin(), run.end(), comes_later)) std::sort(run.begin(), run.end(), comes_later);
    runs_.push_back(std::move(run));
    std::push_heap(runs_.begin(), runs_.end(), is_later);
  }

  TimedRange pop() {
    std::pop_heap(runs_.begin(), runs_.end(), is_later);
    Run& run = runs_.back();
    const TimedRange range = run.back();
    run.pop_back();
    if (run.empty())
      runs_.pop_back();
    else
      std::push_heap(runs_.begin(), runs_.end(), is_later);
    return range;
  }

  std::vector<Run> runs_;  // a heap
};

// The self times of a track whose ranges overlap in any way: take(range, ticks) for each part. visit(range) comes once
// for each range, before its parts.
template <typename Decode, typename NumbersOf, typename Visit, typename Take>
void self_times(std::vector<trace::EventChunk> chunks, const std::vector<TimedRange>& unfinished, Decode&& decode,
                NumbersOf&& numbers_of, Visit&& visit, Take&& take) {
  Innermost<TimedRange> innermost;
  // Ticks may be any numbers. Their order stays the same.
  const auto ordered = [](uint64_t ticks) { return static_cast<int64_t>(ticks ^ uint64_t{1} << 63); };
  const auto part = [&](const TimedRange& of, int64_t begin, int64_t end) {
    take(of, static_cast<uint64_t>(end) - static_cast<uint64_t>(begin));
  };
  RangesByTime::visit(std::move(chunks), unfinished, decode, numbers_of, [&](const TimedRange& range) {
    visit(range);
    innermost.add(ordered(range.begin), ordered(range.end), range, part);
  });
  innermost.finish(part);
}

// The ranges of a track for nest_by_time(), in the order of its chunks.
class AllRanges {
 public:
  // `number_of(i)` is the number of a range, by its index.
  template <typename NumberOf>
  void add(const trace::Ranges& ranges, NumberOf&& number_of) {
    for (size_t i = 0; i < ranges.size(); ++i) {
      const uint64_t end = ranges.end[i];
      const bool is_nested = nests_by_depth(ranges.lane.empty() ? uint16_t{0} : ranges.lane[i], ranges.depth[i]);
      ranges_.push_back(
          {end - std::min(end, ranges.duration[i]), end, number_of(i), ranges.depth[i], false, is_nested});
    }
  }
  void add(const TimedRange& range) { ranges_.push_back(range); }
  // One that is open at the end of the track, when its process was last seen.
  void add_open(const trace::OpenRange& open, size_t depth, const trace::ClockMap& clock, int64_t end_ns,
                uint32_t number) {
    const uint64_t ticks = unfinished_ticks(clock, open.start, open.start, &end_ns);
    const uint64_t end = open.start + std::min(ticks, std::numeric_limits<uint64_t>::max() - open.start);
    add({open.start, end, number, static_cast<uint16_t>(std::min<size_t>(depth, UINT16_MAX)), true,
         depth < UINT16_MAX});
  }

  template <typename Decode, typename NumbersOf>
  void read(const std::vector<trace::EventChunk>& chunks, Decode&& decode, NumbersOf&& numbers_of) {
    DecodeAhead ahead(chunks, decode, 1);
    while (const DecodeAhead::Item* const item = ahead.next()) {
      if (!item->error.empty()) continue;  // the first pass has reported it
      const std::span<const uint32_t> numbers = numbers_of(item->batch);
      add(item->batch.ranges, [&](size_t i) { return numbers[i]; });
    }
  }

  std::vector<TimedRange>& ranges() { return ranges_; }

 private:
  std::vector<TimedRange> ranges_;
};

// Whether a range that began before another one, or with it, is around it.
inline bool is_around(const TimedRange& outer, const TimedRange& inner) {
  if (outer.is_nested && inner.is_nested && outer.depth >= inner.depth) return false;
  if (outer.end >= inner.end) return true;
  return outer.end > inner.begin && outer.end - inner.begin > inner.end - outer.end;
}

// Ranges that overlap in any way. Sorts them by their begins. `sums` must be empty.
template <typename Sums>
void nest_by_time(AllRanges& all, Sums& sums) {
  std::vector<TimedRange>& ranges = all.ranges();
  std::sort(ranges.begin(), ranges.end(), [](const TimedRange& a, const TimedRange& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end > b.end : a.depth < b.depth;
  });
  struct Open {
    const TimedRange* range;
    typename Sums::Owner owner;
    size_t depth;
  };
  constexpr size_t kMostLooked = 256;  // only a forged file has more that overlap without being inside each other
  std::vector<Open> open;              // by begin; some may have ended
  std::vector<typename Sums::Owner> owners;
  owners.reserve(ranges.size());
  for (const TimedRange& range : ranges) {
    size_t around = open.size();  // one more than the index
    size_t looked = 0;
    for (; around != 0 && !is_around(*open[around - 1].range, range); --around) {
      if (open[around - 1].range->end <= range.begin)
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(around - 1));
      else if (++looked == kMostLooked)
        around = 1;
    }
    const size_t depth = around == 0 ? 0 : open[around - 1].depth + 1;
    owners.push_back(sums.visit(around == 0 ? sums.outside() : open[around - 1].owner, range, depth));
    open.push_back({&range, owners.back(), depth});
  }
  // The last one to begin first: it has its time except what later ones have.
  std::vector<TickSpan> covered;  // the earliest is the last
  for (size_t i = ranges.size(); i-- > 0;) {
    const TimedRange& range = ranges[i];
    TickSpan span{range.begin, range.end};
    uint64_t at = range.begin;
    const auto take_until = [&](uint64_t end) {
      if (at < end) sums.take(owners[i], range, TickSpan{at, end});
    };
    for (; !covered.empty() && covered.back().begin <= range.end; covered.pop_back()) {
      take_until(covered.back().begin);
      at = std::max(at, covered.back().end);
      span.end = std::max(span.end, covered.back().end);
    }
    take_until(range.end);
    covered.push_back(span);
  }
}

}  // namespace kymo::analyze
