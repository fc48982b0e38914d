// Keeps some of the points of a batch, with their values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "trace/reader.h"

namespace kymo::trace {

// Whether to keep the point with this index. The class is null if it is not in the trace. May change the time.
using KeepPoint = std::function<bool(size_t index, const EventClass* event_class, uint64_t& time)>;

// `points` must have their values.
void keep_points(Points& points, const std::map<uint32_t, EventClass>& classes, const KeepPoint& keep);

// Appends the values of an event.
void append_row(Values& into, const std::vector<ValueCursor::Value>& row);

}  // namespace kymo::trace
