// Writes a result as Chrome's JSON in Kineto's dialect (convert/chrome_writer.h). docs/edge.md lists the keys.
#pragma once

#include <string>

#include "convert/export_stream.h"
#include "edge/result_data.h"

namespace kymo::edge {

// The order is: threads, each with its events in the order of their begin; then devices, then allocations. Events
// that overlap without nesting get their own rows (rows.h). The file is valid JSON for any texts in the result.
//
// `trace_name` is written to the file: it is the file's own path. Throws what the sink throws; the caller finishes the
// sink.
void write_chrome(const ResultData& result, const std::string& trace_name, convert::ExportStream& sink);

}  // namespace kymo::edge
