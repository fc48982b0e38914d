// Writes a trace with its critical path on a track of its own.
#pragma once

#include <string>
#include <vector>

#include "analyze/path/path.h"
#include "trace/reader.h"

namespace kymo::cli {

// As a Kymo trace (.kymo), or in a format of convert/export.h. Throws kymo::Error if it cannot be written, and
// options::UsageError if the extension is unknown.
void write_with_path(const trace::Reader& reader, const analyze::EventWalk& walk, const analyze::Activity& activity,
                     const std::vector<analyze::PathSegment>& path, const std::string& input,
                     const std::string& output);

}  // namespace kymo::cli
