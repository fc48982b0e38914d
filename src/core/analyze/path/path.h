// The critical path of a window: the chain of work that the end of the window waited for.
//
// It is followed backwards from the end. Each segment begins where the segment before it ends, so the segments cover
// the window without gaps and overlaps, and their sum is its length.
//
//   on a thread      back to the begin of the window, or to
//                    - a call in which the thread waited for a device: from there on, the operation launched before
//                      the call that ended last
//                    - a flow from another thread that was sent while this thread was idle: from there on, that thread
//   on a queue       the operation, then what it waited for, whichever came last:
//                    - the operation before it on its queue
//                    - its launch: from there on, the launching thread
//                    - for a collective, the rank that arrived last: from there on, that rank
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/path/activity.h"

namespace kymo::analyze {

enum class PathKind : uint8_t { Host, Operation, LaunchLatency, QueueWait, Handover, AfterDevice };
std::string_view text_of(PathKind kind);

struct PathSegment {
  int64_t begin = 0, end = 0;
  PathKind kind = PathKind::Host;
  uint32_t track = 0;
  uint32_t operation = UINT32_MAX;  // of an Operation

  int64_t length() const { return end - begin; }
};

// In order of time. `track`: the thread at whose end the path begins.
std::vector<PathSegment> critical_path(const EventWalk& walk, const Activity& activity, uint32_t track);

}  // namespace kymo::analyze
