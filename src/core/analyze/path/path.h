// The critical path of a window: the chain of work that the end of the window waited for.
//
// It is followed backwards from the end, through the causes of the activity. Each segment begins where the segment
// before it ends, so the segments cover the window without gaps and overlaps, and their sum is its length.
//
//   on a thread      back to the end of its last wait (report/thread_waits.h): from there on, the operation or the
//   thread
//                    that ended the wait
//   on a queue       the operation, then the cause of its begin (report/operation_starts.h): the operation before it on
//                    its queue, an operation of another queue, or its launch: from there on, the launching thread. For
//                    a collective, first the rank that arrived last
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/report/activity.h"

namespace kymo::analyze {

enum class PathKind : uint8_t { Host, Operation, LaunchLatency, QueueWait, EventWait, Queued, Handover, AfterDevice };
std::string_view text_of(PathKind kind);

struct PathSegment {
  int64_t begin = 0, end = 0;
  PathKind kind = PathKind::Host;
  uint32_t track = 0;
  uint32_t operation = kNone;  // of an Operation

  int64_t length() const { return end - begin; }
};

// In order of time. `track`: the thread at whose end the path begins.
std::vector<PathSegment> critical_path(const Activity& activity, uint32_t track);

}  // namespace kymo::analyze
