// Exports the memory profile of a trace. The extension of the file selects the format.
//
//   .html                        a page with the stacked timeline and the holders (page.h)
//   .json, .json.gz              rows of bytes by category (timeline_json.h)
//   .raw.json, .raw.json.gz      every change (timeline_json.h)
//   .pickle                      a snapshot for memory_viz (snapshot.h)
//   .kymo                        the trace itself
#pragma once

#include <string>

#include "trace/reader.h"

namespace kymo::memory {

struct ExportOptions {
  std::string device;  // only this memory; empty: all
};

// The file appears under its name, with mode 0600, when it is complete. Throws kymo::InvalidArgument if the extension
// is unsupported or if the device has no allocations. Throws kymo::Error if the trace has no allocations at all, or,
// with path and reason, if the file cannot be written.
void export_profile(const trace::Reader& reader, const std::string& path, const ExportOptions& options = {});

// Throws as above if the extension is unsupported. Call it before recording starts.
void check_profile_name(const std::string& path);

}  // namespace kymo::memory
