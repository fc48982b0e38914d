// Finds the position of a thread's backend events among its operations (build.h has the rule).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edge/log.h"
#include "edge/open_operations.h"

namespace kymo::edge {

// A backend event, with only the members that its position needs.
struct BackendSpan {
  uint64_t start_ns = 0, end_ns = 0, reported_ns = 0;
  uint32_t backend = 0;  // a number for its name
};

struct BackendPlace {
  uint32_t event = 0;              // an index into the backend's events
  uint32_t operation = kNothing;   // its parent, or
  uint32_t inside = kNothing;      // an index into the places, of an earlier one
  uint32_t operations_before = 0;  // how many operations of the thread come before it
};

// `operations` are in the order in which they began, `parents` are their parents. Returns a position for each backend
// event, in their order among the thread's events: parents first.
std::vector<BackendPlace> place_backend_events(std::span<const TimeSpan> operations, std::span<const uint32_t> parents,
                                               std::span<const BackendSpan> events);

}  // namespace kymo::edge
