// What the length of a window would be if some names took more or less time.
//
// The window is replayed in the order of its events: a thread moves by what its ranges save, an operation starts when
// its queue is free and its launch has arrived, and a wait ends when the last operations of the queues that it waits
// for have ended. Gaps that nothing explains stay as they are. With no change, the result is the length of the window.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "analyze/path/activity.h"

namespace kymo::analyze {

// The factor for a name: 1 leaves it, 0.5 makes it twice as fast.
using FactorOf = std::function<double(std::string_view name)>;

// `track`: the thread whose end is the end of the window.
int64_t what_if(const EventWalk& walk, const Activity& activity, uint32_t track, const FactorOf& factor_of);

}  // namespace kymo::analyze
