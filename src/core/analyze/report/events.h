// Walks the events of a trace, chunk by chunk in file order, with their tracks and times on one clock.
//
//   EventWalk walk(reader);
//   walk.each(trace::kRangeTimes | …, [](TrackOfTrace& track) { return track.on_device; },
//             [](TrackOfTrace& track, const trace::EventBatch& batch) { … });
//
// All cores decode; the callbacks run on the calling thread, in order. Damaged chunks are skipped, and are in
// problems().
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::analyze {

struct TrackOfTrace {
  uint32_t number = 0;  // in EventWalk::tracks()
  uint32_t writer_number = 0;
  const trace::WriterInfo* writer = nullptr;
  const trace::Track* track = nullptr;
  trace::ClockMap clock;
  bool on_device = false;
  int64_t end_ns = 0;  // when its process was last seen: its open ranges lasted until then

  int64_t ns(uint64_t ticks) const { return clock.to_monotonic_ns(ticks); }
  std::string name() const;  // "python3 thread main", "GPU 0 stream 7"
};

class EventWalk {
 public:
  // Merges the tracks of all writers. The reader must outlive it.
  explicit EventWalk(const trace::Reader& reader);

  using Visit = std::function<void(TrackOfTrace&, const trace::EventBatch&)>;
  // `parts` are those of trace::Part. Reads only the chunks of tracks that are `wanted`.
  void each(unsigned parts, const std::function<bool(const TrackOfTrace&)>& wanted, const Visit& visit);
  // The last chunk first.
  void each_backwards(unsigned parts, const std::function<bool(const TrackOfTrace&)>& wanted, const Visit& visit);

  // The track of a chunk; null: it is not known, or its clock is not usable.
  const TrackOfTrace* track_of(const trace::EventChunk& chunk) const;

  std::deque<TrackOfTrace>& tracks() { return tracks_; }
  const std::deque<TrackOfTrace>& tracks() const { return tracks_; }
  const trace::Reader& reader() const { return reader_; }

  // What could not be read: the problems of the reader, and the damaged chunks that each() has found.
  std::vector<trace::Problem> problems() const;

  // The first and last time of an event of any track; both 0 if there is none.
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }

 private:
  std::vector<trace::EventChunk> chunks_of(const std::function<bool(const TrackOfTrace&)>& wanted) const;
  void each(unsigned parts, const std::vector<trace::EventChunk>& chunks, const Visit& visit);

  const trace::Reader& reader_;
  std::deque<TrackOfTrace> tracks_;
  std::map<std::pair<trace::WriterId, uint32_t>, uint32_t> numbers_;
  std::map<uint64_t, trace::Problem> damaged_;  // by offset: a chunk may be read several times
  int64_t first_ns_ = 0, last_ns_ = 0;
};

struct TrackRange {
  int64_t begin = 0, end = 0;
  uint64_t correlation = 0;  // if it was read
  uint32_t class_id = 0;
  uint16_t lane = 0, depth = 0;
  uint64_t number = 0;  // from the one that add() got for the first range of the chunk; of an open one its depth
  bool is_open = false;
};

// The ranges of one host track over all of its lanes, by their ends, the last one first.
//
//   RangesBackwards ranges;
//   walk.each_backwards(parts, wanted, [&](TrackOfTrace& track, const trace::EventBatch& batch) {
//     ranges.add(track, batch, [](const TrackRange& range) { … });
//   });
//   ranges.finish([](const TrackRange& range) { … });
//
// Ranges that are open at the end of the track come first; they last until its process was last seen. Lane 0 streams
// by. Ranges of other lanes, which are few on a thread, are kept until their turn, because they may be in later chunks.
class RangesBackwards {
 public:
  static constexpr unsigned kParts =
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks;

  // A chunk that has only other lanes does not say what is open. Needs kRangeDepths and kOpenStacks.
  static bool says_what_is_open(const trace::EventBatch& batch);

  // The chunks of the track, the last one first.
  template <typename Visit>
  void add(const TrackOfTrace& track, const trace::EventBatch& batch, Visit&& visit, uint64_t first_number = 0) {
    const trace::Ranges& ranges = batch.ranges;
    if (!has_end_) add_open(track, batch, visit);
    for (size_t i = ranges.size(); i-- > 0;) {
      TrackRange range = range_of(track, ranges, i);
      range.number = first_number + i;
      if (range.lane != 0) {
        waiting_.push(range);
        continue;
      }
      visit_waiting(range, visit);
      visit(range);
    }
  }

  template <typename Visit>
  void finish(Visit&& visit) {
    for (; !waiting_.empty(); waiting_.pop()) visit(waiting_.top());
  }

 private:
  struct EndsFirst {
    bool operator()(const TrackRange& a, const TrackRange& b) const { return is_before(b, a); }
  };

  // Outer ranges come before the ranges inside that end at the same time.
  static bool is_before(const TrackRange& a, const TrackRange& b) {
    if (a.end != b.end) return a.end > b.end;
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.depth < b.depth;
  }

  static TrackRange range_of(const TrackOfTrace& track, const trace::Ranges& ranges, size_t i);
  template <typename Visit>
  void add_open(const TrackOfTrace& track, const trace::EventBatch& batch, Visit& visit) {
    if (!says_what_is_open(batch)) return;
    has_end_ = true;
    for (size_t depth = 0; depth < batch.closing.size(); ++depth) {
      const trace::OpenRange& open = batch.closing[depth];
      visit(TrackRange{track.ns(open.start), track.end_ns, open.correlation, open.class_id, 0,
                       static_cast<uint16_t>(std::min<size_t>(depth, UINT16_MAX)), depth, true});
    }
  }

  template <typename Visit>
  void visit_waiting(const TrackRange& next, Visit& visit) {
    for (; !waiting_.empty() && !is_before(next, waiting_.top()); waiting_.pop()) visit(waiting_.top());
  }

  std::priority_queue<TrackRange, std::vector<TrackRange>, EndsFirst> waiting_;
  bool has_end_ = false;
};

}  // namespace kymo::analyze
