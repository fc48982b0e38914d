// Reads the events of a trace that other ranks take part in.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyze/merge/matching.h"
#include "analyze/report/events.h"

namespace kymo::analyze {

// Gives the same number to collectives that may be the same one, on all ranks.
class Kinds {
 public:
  uint32_t of(const std::string& text) {
    return kinds_.try_emplace(text, static_cast<uint32_t>(kinds_.size())).first->second;
  }

 private:
  std::map<std::string, uint32_t> kinds_;
};

// The collectives of NCCL and RCCL on devices, without messages from one rank to another. With a mark, the ranges and
// instants of that name. The devices of a trace take part together: a collective begins with the last of them.
SharedEvents shared_events(EventWalk& walk, const std::string& mark, Kinds& kinds);

}  // namespace kymo::analyze
