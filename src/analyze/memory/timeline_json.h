// The two JSON forms of memory timelines that PyTorch's tools read.
//
//   timeline   [times, sizes]: microseconds since 1970, and for each a row of nine numbers: 0, then the bytes in use of
//              each category (category.h). A row for each microsecond in which something changed.
//   raw        [[time, action, bytes, category], …]: nanoseconds since 1970; 2: taken, 4: given back (bytes negative);
//              first, at -1, 1: there before the recording, as far as its return says how much it was.
#pragma once

#include <string>

#include "analyze/memory/replay.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::memory {

// Each reads the trace twice. They do not finish the sink.
void write_timeline_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                         convert::ExportStream& sink);
void write_raw_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                    convert::ExportStream& sink);

}  // namespace kymo::memory
