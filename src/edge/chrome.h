// Writes a result as Chrome's JSON in the form that Kineto gives it. docs/edge.md lists the keys.
#pragma once

#include <string>

#include "convert/export_stream.h"
#include "edge/result_data.h"

namespace kymo::edge {

// By thread, each in the order in which its events began; then devices, then allocations. An argument has a line of its
// own below its event's name, because that is how PyTorch's tests read such files. What overlaps without nesting has
// rows of its own (rows.h). Whatever texts the result has, the file is valid JSON.
//
// `trace_name` is said in the file: its own path. Throws what the sink throws; finishing it is the caller's.
void write_chrome(const ResultData& result, const std::string& trace_name, convert::ExportStream& sink);

}  // namespace kymo::edge
