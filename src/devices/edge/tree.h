// The tree of events: links, depths and self times, from each event's parent.
#pragma once

#include <cstdint>
#include <span>

#include "kymo/edge_result.h"

namespace kymo::edge {

// Input: `parent` of each event, an index into `events`; a parent comes before its children. Sets first_child,
// next_sibling, depth and self_ns. Children are linked in their order. The part of a child outside of its parent's time
// does not count against the parent, and time that several children cover together counts once.
void link_tree(std::span<EdgeEvent> events);

// Goes from an event that was just visited to the next one in the tree: its first child, else the next sibling of it or
// of the nearest event above it that has one. Calls `leave` for each event that is done, innermost first. It does not
// go to siblings of roots: at the end of a root's tree it returns kNone.
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
