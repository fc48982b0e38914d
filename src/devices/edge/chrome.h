// Writes a result as Chrome's JSON in Kineto's dialect (convert/chrome_writer.h). docs/edge.md lists the keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/export_stream.h"
#include "edge/result.h"

namespace kymo::edge {

// The order is: threads, each with its events in the order of their begin; then devices, then allocations. Events
// that overlap without nesting get their own rows (rows.h). The file is valid JSON for any texts in the result.
//
// `trace_name` is written to the file: it is the file's own path. Throws what the sink throws; the caller finishes the
// sink.
void write_chrome(const ResultData& result, const std::string& trace_name, convert::ExportStream& sink);

// The forward operator of a function of the automatic differentiation.
struct BackwardLink {
  uint32_t forward = 0, backward = 0;  // events
};

// Pairs of events with the same sequence number. The forward one is the last operator that began with it, because the
// operators around it have the same number. The backward one is the first. Each thread has its own numbers. If several
// threads have the number, the thread that the backward function names is taken; if that is unknown, there is no link.
// In the order of the forward events.
std::vector<BackwardLink> link_backward(const ResultData& result);

}  // namespace kymo::edge
