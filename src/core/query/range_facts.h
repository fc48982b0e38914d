// What other commands know about the ranges of a trace, for the columns of SQL: which range is inside which, how long
// each runs itself, and in which iteration it is. Computed when a statement needs it first, and kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/report/device_work.h"
#include "analyze/report/iterations.h"
#include "analyze/thread_states.h"
#include "query/loaded_traces.h"

namespace kymo::query {

// The column "id" of a range: its file, and its place in it. An unfinished range is found by its track and depth, other
// ranges that are not in the list of a chunk by their order.
class RangeIds {
 public:
  explicit RangeIds(const LoadedTrace& trace);

  uint64_t of_chunk(size_t chunk) const { return file_ + first_[chunk]; }
  uint64_t of_open(const TrackInfo& track, uint64_t depth) const {
    return file_ | kOpen | uint64_t{track.number} % (kDepths / 2) * kDepths | depth % kDepths;
  }
  uint64_t of_other(uint64_t order) const { return file_ + count_ + order; }
  uint64_t count() const { return count_; }  // of the ranges in chunks
  uint64_t index(uint64_t id) const { return id - file_; }

 private:
  static constexpr uint64_t kFile = uint64_t{1} << 48, kOpen = kFile >> 1, kDepths = 1 << 24;
  uint64_t file_;
  uint64_t count_ = 0;
  std::vector<uint64_t> first_;  // by chunk
};

// 16 bytes for each range. The self time, and what is around a range, are those of analyze/nesting.h.
class Nesting {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;

  explicit Nesting(const LoadedTrace& trace);

  // Of a range in a chunk, by its id.
  uint64_t parent(uint64_t id) const { return ranges_[ids_.index(id)].parent; }
  uint64_t self_ns(uint64_t id) const { return ranges_[ids_.index(id)].self_ns; }
  // Of one that is open at the end of its track, and lasted so long. The innermost one has the time after the last
  // event.
  uint64_t open_parent(const TrackInfo& track, size_t depth) const {
    return depth == 0 ? kNone : ids_.of_open(track, depth - 1);
  }
  uint64_t open_self_ns(const TrackInfo& track, size_t depth, uint64_t duration_ns) const;

 private:
  struct Fact {
    uint64_t parent = kNone, self_ns = 0;
  };
  struct Open {
    uint64_t self_ns = 0, length_ns = 0;
    bool is_innermost = false;
  };
  class TrackPass;

  const LoadedTrace& trace_;
  RangeIds ids_;
  std::vector<Fact> ranges_;
  std::unordered_map<uint64_t, Open> open_;  // by id
};

// The iterations of `kymo report`. A range is in the one in which it begins, device work in that of its launch.
class IterationOfRange {
 public:
  explicit IterationOfRange(const LoadedTrace& trace);

  // Nothing: it is outside of all, or the trace has none. `begin` is a time of trace::ClockMap::to_monotonic_ns().
  std::optional<uint32_t> find(const TrackInfo& track, int64_t begin, uint64_t correlation) const;

 private:
  analyze::EventWalk walk_;
  analyze::DeviceWork work_;
  analyze::Iterations iterations_;
  std::map<std::pair<trace::WriterId, uint32_t>, uint32_t> tracks_;
};

// What the sampled threads did.
struct LoadedStates {
  explicit LoadedStates(const LoadedTrace& trace) : all(analyze::read_thread_states(trace.reader)) {}
  const analyze::StatesOfThreads all;
};

// The functions of the samples of a trace, by chunk and point.
class SampleFunctions {
 public:
  explicit SampleFunctions(const LoadedTrace& trace);

  struct Names {
    std::string function;  // the innermost one
    std::string stack;     // all, the outermost one first: "main;load;read"
    std::string wait;      // to which a wait belongs (analyze/functions/functions.h)
  };
  const Names* find(size_t chunk, size_t point) const;  // null: it is no sample

 private:
  std::unordered_map<size_t, std::vector<uint32_t>> stacks_;  // by chunk
  std::unordered_map<uint32_t, Names> names_;
};

}  // namespace kymo::query
