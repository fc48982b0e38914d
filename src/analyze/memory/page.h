// A profile as a page that needs nothing else: the stacked timeline, who held memory at the peak and what stayed.
#pragma once

#include <string>

#include "analyze/memory/profile.h"
#include "convert/export_stream.h"

namespace kymo::memory {

inline constexpr size_t kPageTimelinePoints = 4'000;  // what the page wants of read_profile

// `file` is the trace's name, for the heading. Looks up names of stacks in `profile`. Does not finish the sink.
void write_page(Profile& profile, const std::string& file, convert::ExportStream& sink);

}  // namespace kymo::memory
