// A trace cut to a span of time: what was recorded a little early and a little late becomes exactly what was asked for.
//
// A range that crosses an edge of the span is cut there, and so is one that was begun and ended by handle; what lies
// outside is left out. What later events need to be understood (the stacks and files that an allocation names) is kept
// from before the span, at its beginning. Everything else of the trace goes along: who recorded, clocks, classes,
// costs, and the losses that fall into the span.
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
  int64_t from_ns = 0, to_ns = 0;  // CLOCK_MONOTONIC of the host that recorded; both ends belong to it
  uint64_t late_ns = 0;            // recording began this long after `from_ns`: said in the ledger of losses
  std::vector<std::pair<std::string, std::string>> metadata;  // more to say about the trace
};

struct Clipped {
  uint64_t events = 0;    // ranges and moments in the result
  uint64_t cut = 0;       // of them, ranges that go on outside the span
  uint64_t losses = 0;    // events that the result says it has not
  uint64_t problems = 0;  // chunks that could not be read, or have no clock: left out, and counted in the ledger
};

// Reads each chunk that touches the span once, and the moments of the others; memory for one chunk and for the ranges
// by handle. Throws kymo::Error when the file takes no more. Does not close the writer.
Clipped clip_trace(const trace::Reader& reader, trace::Writer& writer, const ClipOptions& options);
// From one file into another, which is there and empty.
KYMO_API Clipped clip_file(const std::string& from, const std::string& to, const ClipOptions& options);

}  // namespace kymo::collect
