// Combines losses of the same kind, so that a thousand equal ones are one line.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/summary.h"

namespace kymo::analyze {

enum class LossGroups : uint8_t {
  ByTrack,    // one for each cause, process, track and detail
  ByProcess,  // one for each cause, process and detail; the name of the track only if there is one
};

// The counts are added, and the times cover all of a group. Largest first.
std::vector<LossSummary> group_losses(const std::vector<LossSummary>& losses, LossGroups by);

}  // namespace kymo::analyze
