// Instants that define what other events refer to: one more frame of a stack, a loaded file (docs/heap.md). They are
// not events of the program, so readers use them but do not show them.
#pragma once

#include "trace/model.h"

namespace kymo::trace {

inline bool is_definition(const EventClass& event_class) { return event_class.category == "kymo.stack"; }

}  // namespace kymo::trace
