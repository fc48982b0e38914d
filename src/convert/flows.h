// Which flows of a trace are whole, so that no exporter draws half an arrow.
//
// Viewers make nonsense of an arrow that has one end, and a trace may well have lost the other. So before anything is
// written the points are read once: a flow counts when both its beginning and its end are there and each lies in a
// range of its track, which is what an arrow is attached to. The same for a correlation, which ties a launch on a
// thread to the work it caused on a device. Whole flows are numbered through from 1 over all processes, because their
// ids are only a process's own.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

class Flows {
 public:
  // Reads the points of chunks that have any, and the correlations where there is a device. Damaged chunks are passed
  // over. 16 bytes for each whole flow.
  explicit Flows(const trace::Reader& reader);

  // The number of the flow, 0 where it is not whole. `claim_begin` and `claim_end` give it only once: the same end
  // twice is no second arrow.
  uint32_t claim_begin(const trace::WriterId& writer, uint64_t id) { return claim(points_, writer, id, &Flow::begun); }
  uint32_t claim_end(const trace::WriterId& writer, uint64_t id) { return claim(points_, writer, id, &Flow::ended); }
  uint32_t step(const trace::WriterId& writer, uint64_t id) { return claim(points_, writer, id, nullptr); }

  uint32_t claim_launch(const trace::WriterId& writer, uint64_t correlation) {
    return claim(launches_, writer, correlation, &Flow::begun);
  }
  uint32_t claim_execution(const trace::WriterId& writer, uint64_t correlation) {
    return claim(launches_, writer, correlation, &Flow::ended);
  }

  // Points that begin or end a flow and are part of no whole one.
  uint64_t incomplete() const { return incomplete_; }

 private:
  struct Flow {
    uint64_t id = 0;
    uint32_t number = 0;
    bool begun = false, ended = false;
  };
  using PerWriter = std::map<trace::WriterId, std::vector<Flow>>;  // sorted by id
  // Ids of beginnings and ends as they are found.
  struct Ends {
    std::vector<uint64_t> begins, ends;
  };

  void collect_points(const trace::Reader& reader);
  void collect_correlations(const trace::Reader& reader);
  // Returns how many of what was found has no counterpart.
  uint64_t pair_up(std::map<trace::WriterId, Ends>& found, PerWriter& into);
  static uint32_t claim(PerWriter& flows, const trace::WriterId& writer, uint64_t id, bool Flow::*taken);

  PerWriter points_, launches_;
  uint32_t next_number_ = 1;
  uint64_t incomplete_ = 0;
};

}  // namespace kymo::convert
