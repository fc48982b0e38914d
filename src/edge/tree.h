// The tree of events: links, depths and self times, from each event's parent.
#pragma once

#include <cstdint>
#include <span>

#include "kymo/edge_result.h"

namespace kymo::edge {

// `parent` of each is set, an index into `events`, and stands before it; sets first_child, next_sibling, depth and
// self_ns. Children are linked in their order. What a child has outside its parent's span does not count against the
// parent, and what several children cover at once counts once.
void link_tree(std::span<EdgeEvent> events);

// Walks the tree from an event that has just been visited to the one after it: its first child, else the next sibling
// of it or of the nearest event above it that has one. `leave` is called for each event that is done, innermost first.
// Siblings of roots are the caller's: at the end of a root's tree it returns kNone.
template <class Leave>
uint32_t next_in_tree(std::span<const EdgeEvent> events, uint32_t at, Leave leave) {
  if (events[at].first_child != EdgeEvent::kNone) return events[at].first_child;
  while (true) {
    leave(at);
    if (events[at].parent == EdgeEvent::kNone) return EdgeEvent::kNone;
    if (events[at].next_sibling != EdgeEvent::kNone) return events[at].next_sibling;
    at = events[at].parent;
  }
}

}  // namespace kymo::edge
