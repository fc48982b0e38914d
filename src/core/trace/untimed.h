// The events whose times are not known: the file has no description of their track, or no usable clock for it. A
// recorder writes both before the events, so the chunks were damaged or torn off.
//
// Commands leave these events out, except `kymo info`, which counts them, and `kymo stats`, which needs only the rate
// of their clock.
#pragma once

#include <map>
#include <vector>

#include "trace/reader.h"

namespace kymo::trace {

// One problem for each writer and reason, in file order.
std::vector<Problem> untimed_events(const std::map<WriterId, WriterInfo>& writers,
                                    const std::vector<EventChunk>& chunks);

}  // namespace kymo::trace
