// Where the memory of a trace went: how much was in use over time, whose it was when it was most, what stayed.
//
//   Profile profile = read_profile(trace::Reader("run.kymo"));
//
// Bytes of a sample are those it stands for. Memories are added up: where one lies in another (a device on the host's
// heap), ask for one alone. Memory that was there before the recording is not in the sums.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/memory/category.h"
#include "analyze/memory/changes.h"
#include "analyze/memory/replay.h"
#include "trace/reader.h"

namespace kymo::memory {

struct Holding {
  uint64_t bytes = 0, count = 0;
  void add(uint64_t more) {
    bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
    ++count;
  }
};

// Allocations that have something in common.
struct Group {
  uint64_t key = 0;  // a StackId, an index of Tables::ranges, or a size
  Holding taken;     // all of them
  Holding at_peak;   // what was alive then
  Holding left;      // what was never given back
  Holding temporary;
};

struct MemoryUse {
  uint64_t in_use = 0;  // at the end
  uint64_t peak_bytes = 0;
  int64_t peak_ns = 0;
  Holding taken;
  uint64_t returns = 0;
};

// What was in use after a change, in three ways: each sums up to all of it.
struct TimelinePoint {
  static constexpr size_t kMostHolders = 7;
  using BytesByHolder = std::array<uint64_t, kMostHolders + 1>;  // the last: of all others
  int64_t time_ns = 0;
  BytesByCategory bytes{};
  BytesByHolder by_stack{}, by_range{};
};

struct Profile {
  Tables tables;
  int64_t begin_ns = 0, end_ns = 0;  // of what was recorded, since 1970
  ReplayCounts counts;
  bool sampled = false;

  Holding taken, left;
  uint64_t peak_bytes = 0;
  int64_t peak_ns = 0;
  BytesByCategory at_peak{};
  uint64_t end_bytes = 0;  // in use at the end

  std::vector<MemoryUse> memories;                   // as tables.memories
  std::vector<Group> by_stack, by_range, by_size;    // most at the peak first; sizes beyond 65,536 are one, of key 0
  std::vector<Block> largest_at_peak, largest_left;  // the thousand largest

  // Every change where there are few; else the most of each of so many equal spans, and the end. A step each. The
  // holders in it are those that held most at the peak: the first of by_stack and by_range.
  std::vector<TimelinePoint> timeline;
  Temporaries temporaries;
  std::vector<trace::Problem> problems;  // what could not be read

  bool is_empty() const { return counts.allocations == 0 && counts.returns == 0; }
};

struct ProfileOptions {
  std::string device;          // this memory alone ("heap", "cuda:0"); empty: all
  size_t timeline_points = 0;  // about as many as are wanted; 0: none, which saves reading the trace a second time
};

// Memory is bounded by what was alive at once and by the number of stacks, names and sizes, but for a bit for each
// allocation. Throws kymo::InvalidArgument for a device that has no allocations while others have.
Profile read_profile(const trace::Reader& reader, const ProfileOptions& options = {});

}  // namespace kymo::memory
