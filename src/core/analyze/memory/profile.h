// The memory profile of a trace: how much was in use over time, what held it at the peak, what was not freed.
//
//   Profile profile = read_profile(trace::Reader("run.kymo"));
//
// The bytes of a sample are those that it represents. All memories are added up. If one memory is inside another (a
// device on the host's heap), select only one. Memory that was allocated before the recording is not in the sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/memory/changes.h"
#include "analyze/memory/replay.h"
#include "trace/reader.h"

namespace kymo::memory {

// How much memory was in use over time, and what held it at the peak.

// One allocation (positive) or free (negative) of one memory, sorted by time. A free frees the whole block at its
// address, whatever its size says. Address 0 means that the allocator gives no addresses: then only sizes are summed.
struct Change {
  uint64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
};

struct Timeline {
  std::vector<uint64_t> in_use;  // after each change
  uint64_t peak_bytes = 0;
  size_t peak_at = 0;                 // the change that made the peak: an index, as all below
  std::vector<size_t> alive_at_peak;  // largest first
  std::vector<size_t> never_freed;    // largest first
  uint64_t unknown_frees = 0;         // of blocks that are not in the changes: no effect
  uint64_t lost_frees = 0;            // an address is allocated again without a free: counts as freed then
};

// Takes linear time in the number of changes, except for sorting the two lists.
Timeline make_timeline(std::span<const Change> changes);

struct Holding {
  uint64_t bytes = 0, count = 0;
  void add(uint64_t more) {
    bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
    ++count;
  }
};

// Allocations with the same stack, range or size.
struct Group {
  uint64_t key = 0;  // a StackId, an index into Tables::ranges, or a size
  Holding taken;     // all allocations
  Holding at_peak;   // alive at the peak
  Holding left;      // never freed, also of processes that have ended
  Holding temporary;
};

struct MemoryUse {
  uint64_t in_use = 0;  // at the end of its process, or of the recording
  uint64_t peak_bytes = 0;
  int64_t peak_ns = 0;
  Holding taken;
  uint64_t returns = 0;
};

// What was in use after a change, split in three ways. Each of them adds up to the total.
struct TimelinePoint {
  static constexpr size_t kMostHolders = 7;
  using BytesByHolder = std::array<uint64_t, kMostHolders + 1>;  // the last: all others
  int64_t time_ns = 0;
  BytesByCategory bytes{};
  BytesByHolder by_stack{}, by_range{};
};

struct Profile {
  Tables tables;
  int64_t begin_ns = 0, end_ns = 0;  // of the recording, since 1970
  ReplayCounts counts;
  bool sampled = false;

  Holding taken, left;
  uint64_t peak_bytes = 0;
  int64_t peak_ns = 0;
  uint32_t peak_memory = 0;  // of the allocation that made the peak: its clock is that of peak_ns
  BytesByCategory at_peak{};
  uint64_t end_bytes = 0;  // in use at the end of each process, or of the recording: of all memories

  std::vector<MemoryUse> memories;  // in the order of tables.memories
  // Largest at the peak first. After the first 65,536 sizes, all other sizes are one group with key 0.
  std::vector<Group> by_stack, by_range, by_size;
  std::vector<Block> largest_at_peak, largest_left;  // the 1,000 largest

  // One step per entry. Every change if there are few; otherwise the max of each of many equal time spans, and the end.
  // Its holders are the largest at the peak: the first of by_stack and by_range.
  std::vector<TimelinePoint> timeline;
  Temporaries temporaries;
  std::vector<trace::Problem> problems;  // what could not be read

  bool is_empty() const { return counts.allocations == 0 && counts.returns == 0; }
};

struct ProfileOptions {
  std::string device = {};     // only this memory ("heap", "cuda:0"); empty: all
  size_t timeline_points = 0;  // approximate number; 0: no timeline, which saves a second pass over the trace
  bool only_alive = false;     // what processes that have ended did not free is not in use, and not left
};

// Memory use is limited by the blocks alive at once and by the number of stacks, names and sizes, plus one bit per
// allocation. Throws kymo::InvalidArgument if the device has no allocations but others have some.
Profile read_profile(const trace::Reader& reader, const ProfileOptions& options = {});

// True if one memory has nearly all that is in use at the end, and grew from each quarter of the time to the next by at
// least a tenth of that: a leak, or something that collects without a limit. Reads the trace again.
bool keeps_growing(const trace::Reader& reader, const Profile& profile);

// The groups of a profile as text, for the rows of a table.
enum class GroupBy : uint8_t { Stack, Range, Size };

const std::vector<Group>& groups_by(const Profile& profile, GroupBy by);

// At most `most` groups that have something in `which`, largest first.
std::vector<Group> largest(const std::vector<Group>& groups, Holding Group::*which, size_t most);

// The same, but stacks with equal text are one group, for example from two calls on one line or from two processes. If
// there are very many stacks, only the 2,000 largest are compared.
std::vector<Group> distinct(Profile& profile, GroupBy by, Holding Group::*which, size_t most);

struct Holder {
  std::string name;   // the first meaningful function, the range, "4096 bytes"; never empty
  std::string where;  // "model.cc:42"; empty if not known
  std::vector<symbols::Frame> frames;
};
Holder describe(Profile& profile, const Group& group, GroupBy by);

// The number of frames without those that run before main or before a thread's own function.
size_t informative_frames_end(const std::vector<symbols::Frame>& frames);
std::string place_of(const symbols::Frame& frame);               // "model.cc:42", "libfoo.so"; empty: not known
std::string memory_name(const Profile& profile, size_t memory);  // "heap", "cuda:0 of train (4711)"

}  // namespace kymo::memory
