// What the length of a window would be if some names took more or less time.
//
// The window is replayed in the order of its events, with the causes that the critical path is made of: a thread moves
// by what its ranges save, a wait ends after its causes, and an operation begins after its launch, its queue and its
// event. Gaps that nothing explains stay as they are. The result is never shorter than the critical path with its new
// times.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "analyze/path/path.h"

namespace kymo::analyze {

// The factor for a name: 1 leaves it, 0.5 makes it twice as fast.
using FactorOf = std::function<double(std::string_view name)>;

struct WhatIf {
  int64_t length = 0;   // of the window
  int64_t on_path = 0;  // the time on the critical path of the names that change
};

// `track`: the thread whose end is the end of the window; `path`: the critical path from there.
WhatIf what_if(const EventWalk& walk, const Activity& activity, uint32_t track, const std::vector<PathSegment>& path,
               const FactorOf& factor_of);

}  // namespace kymo::analyze
