// Finds the complete flows of a trace, so that no exporter draws half an arrow.
//
// Viewers show wrong results for an arrow with one end, and a trace may have lost the other end. So the points are read
// once before anything is written. A flow counts if it has a start and an end, and each is inside a range of its track,
// because an arrow is attached to ranges. The same applies to a correlation, which connects a launch on a thread to the
// work on a device. Complete flows are numbered from 1 over all processes, because their ids are unique only within a
// process.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

class Flows {
 public:
  // Reads the points of all chunks that have some, and the correlations if there is a device. Damaged chunks are
  // skipped. Uses 16 bytes for each complete flow.
  explicit Flows(const trace::Reader& reader);

  // The number of the flow; 0 if it is not complete. `claim_begin` and `claim_end` return it only once: a repeated end
  // is not a second arrow.
  uint32_t claim_begin(const trace::WriterId& writer, uint64_t id) { return claim(points_, writer, id, &Flow::begun); }
  uint32_t claim_end(const trace::WriterId& writer, uint64_t id) { return claim(points_, writer, id, &Flow::ended); }
  uint32_t step(const trace::WriterId& writer, uint64_t id) { return claim(points_, writer, id, nullptr); }

  uint32_t claim_launch(const trace::WriterId& writer, uint64_t correlation) {
    return claim(launches_, writer, correlation, &Flow::begun);
  }
  uint32_t claim_execution(const trace::WriterId& writer, uint64_t correlation) {
    return claim(launches_, writer, correlation, &Flow::ended);
  }

  // Points that begin or end a flow but are not part of a complete flow.
  uint64_t incomplete() const { return incomplete_; }

 private:
  struct Flow {
    uint64_t id = 0;
    uint32_t number = 0;
    bool begun = false, ended = false;
  };
  using PerWriter = std::map<trace::WriterId, std::vector<Flow>>;  // sorted by id
  // Ids of begins and ends, as they are found.
  struct Ends {
    std::vector<uint64_t> begins, ends;
  };

  void collect_points(const trace::Reader& reader);
  void collect_correlations(const trace::Reader& reader);
  // Returns the number of ids without a counterpart.
  uint64_t pair_up(std::map<trace::WriterId, Ends>& found, PerWriter& into);
  static uint32_t claim(PerWriter& flows, const trace::WriterId& writer, uint64_t id, bool Flow::*taken);

  PerWriter points_, launches_;
  uint32_t next_number_ = 1;
  uint64_t incomplete_ = 0;
};

}  // namespace kymo::convert
