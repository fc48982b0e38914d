// Writes a profile as a self-contained HTML page: the stacked timeline, the holders at the peak, and what was not
// freed.
#pragma once

#include <string>

#include "analyze/memory/profile.h"
#include "convert/export_stream.h"

namespace kymo::memory {

inline constexpr size_t kPageTimelinePoints = 4'000;  // for ProfileOptions::timeline_points

// `file` is the name of the trace, for the heading. Looks up the names of stacks in `profile`. Does not finish the
// sink.
void write_page(Profile& profile, const std::string& file, convert::ExportStream& sink);

}  // namespace kymo::memory
