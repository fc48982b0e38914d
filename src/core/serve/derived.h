// Tracks that are not in the file as they are shown: the bytes in use of each memory, ranges across threads, the
// functions of CPU samples, when threads ran and waited, and the ranks of a merged trace.
//
// All need all points of a file in the order of time: the size of a free is that of its allocation, a range across
// threads ends in another chunk than it begins, and a stack refers to those before it. So they are computed once in the
// background, and kept in a bounded form.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/memory/profile.h"
#include "analyze/memory/stacks.h"
#include "serve/chunk_data.h"
#include "serve/names.h"
#include "serve/source.h"
#include "trace/reader.h"

namespace kymo::serve {

// What a thread did (analyze/thread_states.h), and whether it waited for the collector of Kymo meanwhile.
enum class Activity : uint8_t { Running, Waiting, Ready, HeldUp };
inline constexpr size_t kActivities = 4;

struct DerivedTrack {
  enum class Kind : uint8_t { Memory, AcrossThreads, Functions, States, Rank };
  uint32_t id = 0;  // of its track; given by the view
  uint32_t file = 0, group = 0;
  Kind kind = Kind::Memory;
  std::string name;
  // Memory: steps by time. Every change if there are few; beyond kMaxSteps of a file, bins of equal length with the
  // smallest, the largest and the last value.
  std::vector<CounterBin> values;
  // Ranges across threads by start, on lanes. Their chunk and index are those of the point where they begin.
  // Functions by start, with their depth. The chunk is that of their first sample; the index is their place in `items`.
  // States by start, without overlaps; the index is their place in `items`.
  // Rank: its iterations, and at depth 1 when it waits for others, and they for it; the index is their place in
  // `items`.
  std::vector<Item> items;
  std::vector<uint32_t> end_tracks;  // of ranges across threads: where they end, a position in Source::tracks()
  uint32_t of_track = 0;             // Functions, States: a track of the thread, a position in Source::tracks()
  std::vector<uint32_t> points;      // of the items: the first sample, or the record of a wait, in its chunk; kNoIndex
  std::vector<Activity> activities;  // States: of the items
  uint32_t shared = 0;               // Functions: so many outermost ones are in nearly all samples
  // Rank: its processes, and its part in collectives (analyze/report/ranks.h).
  std::set<trace::WriterId> writers;
  uint64_t calls = 0, last_at = 0, waited_ns = 0, awaited_ns = 0;
  bool is_straggler = false;
  uint64_t left_out = 0;  // items beyond kMaxAcross

  // How long the thread did what between two times, by Activity. Nothing: some states are left out.
  std::optional<std::array<int64_t, kActivities>> times_between(int64_t from_ns, int64_t to_ns) const;

  static constexpr size_t kMaxSteps = 300'000, kMaxAcross = 300'000, kMaxFunctions = 500'000, kMaxStates = 500'000;
  static constexpr uint16_t kMaxDepth = 128;
  static constexpr uint16_t kMaxLanes = 100;  // the rest share the last one
  static constexpr size_t kMaxTasks = 200;    // tracks of tasks in a file; ranges of the rest are with those of no task

  bool same_place(const DerivedTrack& other) const {
    return file == other.file && group == other.group && kind == other.kind && name == other.name &&
           of_track == other.of_track;
  }
};

// The clocks and places of a file, copied so that a long computation does not keep the file locked.
struct FilePlaces {
  struct Place {
    uint32_t track = 0, group = 0;  // a position in Source::tracks()
    FileClock clock;
  };
  std::map<std::pair<trace::WriterId, uint32_t>, Place> tracks;
  std::map<uint64_t, Place> processes;  // by pid: any track of it
  int64_t duration_ns = 0;

  static FilePlaces of(const Source& source);
};

// When the most memory was in use, as a time of the file. The profile has allocations.
int64_t peak_of(const memory::Profile& profile, const FilePlaces& places);

// What tracks are derived from. Names of events, functions and states become names of the table.
struct DerivedInput {
  const trace::Reader& reader;
  const FilePlaces& places;
  NameTable& names;
  // Called often; throws if the result is of no use any more. The reader's on_read() may do the same.
  std::function<void()> check;
};

// One track for each memory of the file. Linear in the number of allocations; memory for those that live at a time.
std::vector<DerivedTrack> memory_tracks(const DerivedInput& input);
// Ranges across threads: one track for each process, and one for each task of asyncio.
std::vector<DerivedTrack> across_threads_tracks(const DerivedInput& input);
// One track for each thread with CPU samples. Consecutive samples with the same function at the same depth are one
// range. Looks up the names of functions in their files, which is slow.
std::vector<DerivedTrack> function_tracks(const DerivedInput& input);
// One track for each thread whose states are known, or that Kymo held up.
std::vector<DerivedTrack> state_tracks(const DerivedInput& input);
// One track for each rank of a merged trace.
std::vector<DerivedTrack> rank_tracks(const DerivedInput& input);

// Calls `sample` for each sample and recorded wait of the file with a stack (Item::index), and then `stack` once for
// each of these stacks, innermost function first.
void each_sample_stack(const trace::Reader& reader,
                       const std::function<void(uint32_t chunk, uint32_t index, memory::StackId)>& sample,
                       const std::function<void(memory::StackId, const std::vector<symbols::Frame>&)>& stack);

// The stack of a CPU sample or of a recorded wait, innermost function first. Reads all points of its writer.
// Empty: it is none.
std::vector<symbols::Frame> sample_frames(const trace::Reader& reader, uint32_t chunk, uint32_t index);

}  // namespace kymo::serve
