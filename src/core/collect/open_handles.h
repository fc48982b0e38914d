// Tracks open ranges across threads, to find ends without a start.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.h"
#include "trace/model.h"

namespace kymo::collect {

// The handles of open ranges across threads, for all rings of a process.
class OpenHandles {
 public:
  void begin(uint64_t handle);
  void end(uint64_t handle, uint32_t track, uint64_t time);
  size_t open_count() const { return open_.size(); }
  // An earlier collector has read some starts, which are not known here. From now on no end counts as unknown.
  void accept_unknown_ends() { accepts_unknown_ends_ = true; }
  // Call it after each pass over all rings. Returns the ends without a start. An end may be read before its start, so
  // it is reported only after the next pass.
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
  bool accepts_unknown_ends_ = false;
};

}  // namespace kymo::collect
