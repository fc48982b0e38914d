// Finds which events of two ranks are the same ones, without knowing how their clocks differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyze/merge/alignment.h"

namespace kymo::analyze {

// A collective, or an event of one name, that several ranks take part in.
struct SharedEvent {
  int64_t begin = 0, end = 0;
  uint32_t kind = 0;              // events of different kinds are different ones
  std::optional<int64_t> number;  // among those of its kind, if the trace has it
  bool operator==(const SharedEvent&) const = default;
};

using SharedEvents = std::vector<SharedEvent>;  // by their ends

// Numbered events match by their numbers. Otherwise the two lists are the same sequence, whose first or last events may
// be missing in either list: all shifts of one list against the other are compared, and the one whose ends fit best
// is right. It is proven if it fits better than the lists fit themselves a step later: then it follows what
// happened, and not only the regular steps. If it is not, every shift that fits about as well may be the right one.
struct Matching {
  std::vector<SharedMoment> moments;  // ends; empty: no shift matches
  size_t ways = 0;         // how many shifts may be the right one; the one nearest to the system clocks is taken
  uint64_t reach_ns = 0;   // how far the others are away
  bool is_proven = false;  // it fits better than chance and regular steps explain
  // False: so many shifts fit, or there are so few events, that also one with no events in common may be right.
  bool is_bounded = true;
  bool fits = false;  // the ends are closer to each other than to those of other events
};

// `by_system_clock` is the reference minus the other clock, if the system clocks of both are known. Costs up to 4,096
// shifts with 256 events each.
Matching match_events(const SharedEvents& reference, const SharedEvents& other, std::optional<int64_t> by_system_clock);

// The same for clocks that are aligned: for each pair its indices. Events that are nearest to each other, and overlap
// within the error: a rank cannot leave a collective before all have come.
std::vector<std::pair<size_t, size_t>> pair_events(const SharedEvents& reference, const SharedEvents& other,
                                                   const Alignment& alignment);

}  // namespace kymo::analyze
