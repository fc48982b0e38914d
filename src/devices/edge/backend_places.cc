#include "edge/backend_places.h"

#include <algorithm>
#include <numeric>

namespace kymo::edge {

namespace {

constexpr uint64_t kMicrosecond = 1000;
constexpr size_t kMaxTried = 64;  // max number of overlapping events that are tried, so that the search ends

uint32_t operation_of(const BackendSpan& event, const OpenOperations& open) {
  const uint32_t around = open.find_up(event.start_ns + kMicrosecond, [&](const TimeSpan& operation) {
    return operation.start_ns <= event.start_ns + kMicrosecond && event.end_ns <= operation.end_ns + kMicrosecond;
  });
  if (around != kNothing) return around;
  return open.find_up(event.reported_ns, [&](const TimeSpan& operation) {
    return operation.end_ns >= event.reported_ns && operation.start_ns < event.end_ns &&
           event.start_ns < operation.end_ns;
  });
}

}  // namespace

std::vector<BackendPlace> place_backend_events(std::span<const TimeSpan> operations, std::span<const uint32_t> parents,
                                               std::span<const BackendSpan> events) {
  const OpenOperations by_time(operations, parents);
  std::vector<uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t one, uint32_t other) {
    const BackendSpan &a = events[one], &b = events[other];
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });

  struct Placed {
    BackendPlace place;
    uint32_t within = kNothing;  // the operation that contains it, also if it is inside another backend event
    uint64_t from = 0;           // not before the begin of its parent
  };
  std::vector<Placed> placed;
  placed.reserve(events.size());
  std::vector<uint32_t> open;  // events that may contain the next ones
  for (const uint32_t which : order) {
    const BackendSpan& event = events[which];
    const auto at = static_cast<uint32_t>(placed.size());
    Placed& made = placed.emplace_back();
    made.place.event = which;
    made.within = made.place.operation = operation_of(event, by_time);
    made.from = made.within == kNothing ? event.start_ns : std::max(event.start_ns, by_time.begin_of(made.within));

    while (!open.empty() && events[placed[open.back()].place.event].end_ns <= event.start_ns) open.pop_back();
    for (size_t tried = 0; tried < std::min(open.size(), kMaxTried); ++tried) {
      const uint32_t candidate = open[open.size() - 1 - tried];
      const BackendSpan& around = events[placed[candidate].place.event];
      const bool longer = around.end_ns - around.start_ns > event.end_ns - event.start_ns;
      if (!longer || event.start_ns >= around.end_ns || event.end_ns > around.end_ns) continue;
      if (around.backend != event.backend || placed[candidate].within != made.within) continue;
      made.place.inside = candidate;
      made.place.operation = kNothing;
      made.from = std::max(made.from, placed[candidate].from);
      break;
    }
    open.push_back(at);
  }

  // In their final order: only events that claim to begin before their parents are moved.
  std::vector<uint32_t> final_order(placed.size()), now_at(placed.size());
  std::iota(final_order.begin(), final_order.end(), 0);
  std::stable_sort(final_order.begin(), final_order.end(),
                   [&](uint32_t one, uint32_t other) { return placed[one].from < placed[other].from; });
  std::vector<BackendPlace> places;
  places.reserve(placed.size());
  for (const uint32_t from : final_order) {
    now_at[from] = static_cast<uint32_t>(places.size());
    BackendPlace place = placed[from].place;
    if (place.inside != kNothing) place.inside = now_at[place.inside];
    place.operations_before = by_time.started_by(placed[from].from);
    places.push_back(place);
  }
  return places;
}

}  // namespace kymo::edge
