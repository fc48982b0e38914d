// Which forward operator a function of the automatic differentiation belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "edge/result_data.h"

namespace kymo::edge {

struct BackwardLink {
  uint32_t forward = 0, backward = 0;  // events
};

// Pairs of one sequence number: the forward one is the last operator to begin with it, because those around it have the
// same number, and the backward one the first. Threads count for themselves: where several have the number, it is the
// thread that the backward function names, and none where that cannot be told. In the order of the forward events.
std::vector<BackwardLink> link_backward(const ResultData& result);

}  // namespace kymo::edge
