// Cuts a trace to a time span. A recording starts a little early and stops a little late; the result has exactly the
// requested span.
//
// A range that crosses an edge of the span is cut there, also a range that was started and ended by handle. Events
// outside are dropped. Events before the span that later events need (the stacks and files of an allocation) are kept,
// at the start of the span. All other data of the trace is copied: the processes, clocks, classes, costs, and the
// losses inside the span.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kymo/export.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::collect {

struct ClipOptions {
  int64_t from_ns = 0, to_ns = 0;  // CLOCK_MONOTONIC of the host that recorded; both ends are inside
  uint64_t late_ns = 0;            // recording started this long after `from_ns`; noted in the ledger of losses
  std::vector<std::pair<std::string, std::string>> metadata;  // added to the trace's metadata
};

struct Clipped {
  uint64_t events = 0;    // ranges and points in the result
  uint64_t cut = 0;       // of them, ranges that continue outside the span
  uint64_t losses = 0;    // events that the result reports as lost
  uint64_t problems = 0;  // chunks that cannot be read or have no clock: left out, and counted in the ledger
};

// Reads each chunk in the span once, and only the points of the other chunks. Uses memory for one chunk and for the
// ranges by handle. Throws kymo::Error if the file cannot be written. Does not close the writer.
Clipped clip_trace(const trace::Reader& reader, trace::Writer& writer, const ClipOptions& options);
// From one file into another one, which must exist and be empty.
KYMO_API Clipped clip_file(const std::string& from, const std::string& to, const ClipOptions& options);

}  // namespace kymo::collect
