#include "edge/tree.h"

#include <algorithm>
#include <vector>

namespace kymo::edge {

void link_tree(std::span<EdgeEvent> events) {
  struct Open {
    uint64_t covered_until = 0;  // time that is covered by the children so far
    uint32_t last_child = EdgeEvent::kNone;
  };
  std::vector<Open> open(events.size());
  for (uint32_t at = 0; at < events.size(); ++at) {
    EdgeEvent& event = events[at];
    event.first_child = event.next_sibling = EdgeEvent::kNone;
    event.self_ns = event.end_ns > event.start_ns ? event.end_ns - event.start_ns : 0;
    open[at].covered_until = event.start_ns;
    if (event.parent >= at) {  // no parent, because a parent never comes later
      event.parent = EdgeEvent::kNone;
      event.depth = 0;
      continue;
    }
    EdgeEvent& parent = events[event.parent];
    Open& above = open[event.parent];
    event.depth = parent.depth + 1;
    (above.last_child == EdgeEvent::kNone ? parent.first_child : events[above.last_child].next_sibling) = at;
    above.last_child = at;
    // Siblings are in the order of their begin, with few exceptions. Time that an earlier sibling already covers does
    // not count twice.
    const uint64_t from = std::max(event.start_ns, above.covered_until);
    const uint64_t until = std::min(event.end_ns, parent.end_ns);
    if (until <= from) continue;
    parent.self_ns -= std::min(parent.self_ns, until - from);
    above.covered_until = until;
  }
}

}  // namespace kymo::edge
