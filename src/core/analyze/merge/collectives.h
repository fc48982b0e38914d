// The shared events of a rank: collectives on a device, or ranges and instants of one name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/report/events.h"

namespace kymo::analyze {

struct SharedEvent {
  int64_t begin = 0, end = 0;
};

// By name, in order of time.
using SharedEvents = std::map<std::string, std::vector<SharedEvent>>;

// `mark` empty: the collectives of NCCL and RCCL.
SharedEvents shared_events(EventWalk& walk, const std::string& mark);

}  // namespace kymo::analyze
