// Finds the forward operator for each function of the automatic differentiation.
#pragma once

#include <cstdint>
#include <vector>

#include "edge/result_data.h"

namespace kymo::edge {

struct BackwardLink {
  uint32_t forward = 0, backward = 0;  // events
};

// Pairs of events with the same sequence number. The forward one is the last operator that began with it, because the
// operators around it have the same number. The backward one is the first. Each thread has its own numbers. If several
// threads have the number, the thread that the backward function names is taken; if that is unknown, there is no link.
// In the order of the forward events.
std::vector<BackwardLink> link_backward(const ResultData& result);

}  // namespace kymo::edge
