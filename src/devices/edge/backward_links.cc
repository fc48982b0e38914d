#include "edge/backward_links.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kymo::edge {
namespace {

using SequenceAndThread = std::pair<int64_t, uint64_t>;
using EventOf = std::map<SequenceAndThread, uint32_t>;

// kNone: no event matches, or several do.
uint32_t find_forward(const EventOf& forward, const SequenceAndThread& backward) {
  if (const auto named = forward.find(backward); named != forward.end()) return named->second;
  const auto first = forward.lower_bound({backward.first, 0});
  if (first == forward.end() || first->first.first != backward.first) return EdgeEvent::kNone;
  const auto next = std::next(first);
  const bool is_only = next == forward.end() || next->first.first != backward.first;
  return is_only ? first->second : EdgeEvent::kNone;
}

}  // namespace

std::vector<BackwardLink> link_backward(const ResultData& result) {
  EventOf backward;
  for (uint32_t i = 0; i < result.events.size(); ++i) {
    const EdgeEvent& event = result.events[i];
    if (event.kind != EdgeKind::Backward || event.sequence < 0) continue;
    const auto [entry, is_new] = backward.try_emplace({event.sequence, event.forward_thread}, i);
    if (!is_new && event.start_ns < result.events[entry->second].start_ns) entry->second = i;
  }
  if (backward.empty()) return {};

  EventOf forward;
  for (uint32_t i = 0; i < result.events.size(); ++i) {
    const EdgeEvent& event = result.events[i];
    if (event.kind != EdgeKind::Operator || event.sequence < 0 || event.forward_thread != 0) continue;
    const auto [entry, is_new] = forward.try_emplace({event.sequence, event.thread}, i);
    if (!is_new && event.start_ns >= result.events[entry->second].start_ns) entry->second = i;
  }
  std::vector<BackwardLink> links;
  for (const auto& [key, event] : backward) {
    const uint32_t cause = find_forward(forward, key);
    if (cause == EdgeEvent::kNone || result.events[cause].start_ns > result.events[event].start_ns) continue;
    links.push_back({cause, event});
  }
  std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) { return a.forward < b.forward; });
  return links;
}

}  // namespace kymo::edge
