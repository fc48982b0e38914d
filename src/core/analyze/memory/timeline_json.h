// Writes the two JSON formats of memory timelines that PyTorch's tools read.
//
//   timeline   [times, sizes]: times in microseconds since 1970; for each time a row of nine numbers: 0, then the bytes
//              in use per category (category.h). There is a row for each microsecond with a change.
//   raw        [[time, action, bytes, category], …]: time in nanoseconds since 1970; action 2: allocated, 4: freed
//              (bytes negative). First, at time -1, action 1: allocated before the recording, if its free gives the
//              size.
#pragma once

#include <string>

#include "analyze/memory/replay.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::memory {

// Each function reads the trace twice. They do not finish the sink.
void write_timeline_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                         convert::ExportStream& sink);
void write_raw_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                    convert::ExportStream& sink);

}  // namespace kymo::memory
