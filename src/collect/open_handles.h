// Ranges across threads that are open: which ends had no start.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.h"
#include "trace/model.h"

namespace kymo::collect {

// Handles of ranges across threads that are open, for all rings of a process.
class OpenHandles {
 public:
  void begin(uint64_t handle);
  void end(uint64_t handle, uint32_t track, uint64_t time);
  size_t open_count() const { return open_.size(); }
  // Starts that an earlier collector has read are not known here: no end is called unknown any more.
  void forgive() { forgiving_ = true; }
  // Once a pass over all rings is over: ends whose start was nowhere. An end may be read before its start, so it is
  // asked about in the pass after.
  std::vector<trace::Loss> unknown_ends();

 private:
  struct LateEnd {
    uint64_t handle;
    uint32_t track;
    uint64_t time;
    bool old;
  };
  std::unordered_set<uint64_t, base::SeededHash> open_;
  std::vector<LateEnd> late_;
  bool forgiving_ = false;
};

}  // namespace kymo::collect
