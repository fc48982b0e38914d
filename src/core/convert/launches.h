// Launches and their work: the arrows from a range on a thread to the ranges on devices that have its correlation, and
// the operation that each launch belongs to.
//
// As with flows, both ends must be in the trace. One launch may cause several ranges: each gets an arrow. The operation
// of a launch is the innermost operator or annotation around it, or the launch itself if it is one (kineto.h). So all
// correlations are read once before anything is written, if the trace has a device.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

class Launches {
 public:
  // Damaged chunks are skipped. Arrows are numbered on from `first_arrow`. Uses 32 bytes for each launch.
  Launches(const trace::Reader& reader, uint32_t first_arrow);

  // The arrows from a launch: the first one and their number. Given out once.
  struct Arrows {
    uint32_t first = 0, count = 0;
  };
  Arrows claim_launch(const trace::WriterId& writer, uint64_t correlation);
  // The arrow to the next range on a device; 0: none.
  uint32_t claim_execution(const trace::WriterId& writer, uint64_t correlation);
  // Event::number of the operation that a launch belongs to; 0: none, or it never ended.
  uint64_t operation_of(const trace::WriterId& writer, uint64_t correlation) const;

 private:
  struct Launch {
    uint64_t correlation = 0;
    uint64_t operation = 0;
    uint32_t first = 0, executions = 0;  // arrows
    uint32_t claimed = 0;                // executions so far
    bool started = false;
  };
  class Collector;
  Launch* find(const trace::WriterId& writer, uint64_t correlation);

  std::map<trace::WriterId, std::vector<Launch>> launches_;  // by correlation
};

}  // namespace kymo::convert
