// Where the time went, by path: process, thread or queue, range, range inside, …
//
// The paths are summed up while chunks stream by. All cores decode. Memory depends on the number of distinct paths, not
// of events, and is limited: PathOptions. Ranges that were started and ended by handle are in no path, because they are
// inside of nothing. Ranges on lanes of a queue are counted in the queue, so its time may be longer than the trace.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace kymo::views {

struct PathOptions {
  bool full_text = false;  // paths of "step 7" and "step 8" instead of "step {}"
  // Ranges beyond these limits have no path of their own. Their time stays in the range around them.
  uint64_t max_paths = 1 << 20;
  uint16_t max_depth = 1'024;
};

enum class FrameKind : uint8_t {
  All,         // the root
  Process,     // or a device
  Track,       // a thread or queue: all with this name in the process
  Range,       // on a thread
  Work,        // a range on a queue of a device
  Function,    // that was running, or called one, when a sample was taken
  Unfinished,  // the self time of ranges whose end is not in the trace, until their process was last seen alive
};

struct PathFrame {
  std::string_view name;  // one of Paths::names
  FrameKind kind = FrameKind::All;
  uint32_t depth = 0;     // of the root: 0
  uint64_t count = 0;     // ranges; 0 for the root, processes and tracks
  uint64_t total_ns = 0;  // with all that is inside
  uint64_t self_ns = 0;   // without: the self times of all frames sum to the total of the root
};

struct Paths {
  Paths() = default;
  Paths(Paths&&) = default;  // names stay where they are
  Paths& operator=(Paths&&) = default;

  std::deque<std::string> names;  // each once: kernels have long names
  std::vector<PathFrame> frames;  // each is followed by its children, sorted by name; the root is the first
  uint64_t unfinished = 0;        // ranges
  uint64_t over_limit = 0;        // ranges that have no path of their own
  std::vector<trace::Problem> problems;
};

// Never throws for a damaged trace.
Paths collect_paths(const trace::Reader& reader, const PathOptions& options = {});

}  // namespace kymo::views
