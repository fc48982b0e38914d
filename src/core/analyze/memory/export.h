// Exports the memory profile of a trace. The extension of the file selects the format.
//
//   .html                        a page with the stacked timeline and the holders
//   .json, .json.gz              rows of bytes by category
//   .raw.json, .raw.json.gz      every change
//   .pickle                      a snapshot for memory_viz (snapshot.h)
//   .kymo                        the trace itself
#pragma once

#include <string>

#include "analyze/memory/profile.h"
#include "analyze/memory/replay.h"
#include "convert/export_stream.h"
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

// Writes the two JSON formats of memory timelines that PyTorch's tools read.
//
//   timeline   [times, sizes]: times in microseconds since 1970; for each time a row of nine numbers: 0, then the bytes
//              in use per category (changes.h). There is a row for each microsecond with a change.
//   raw        [[time, action, bytes, category], …]: time in nanoseconds since 1970; action 2: allocated, 4: freed
//              (bytes negative). First, at time -1, action 1: allocated before the recording, if its free gives the
//              size.

// Each function reads the trace twice. They do not finish the sink.
void write_timeline_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                         convert::ExportStream& sink);
void write_raw_json(const trace::Reader& reader, const std::string& device, const Temporaries& temporaries,
                    convert::ExportStream& sink);

// Writes a profile as a self-contained HTML page: the stacked timeline, the holders at the peak, and what was not
// freed.

inline constexpr size_t kPageTimelinePoints = 4'000;  // for ProfileOptions::timeline_points

// `file` is the name of the trace, for the heading. Looks up the names of stacks in `profile`. Does not finish the
// sink.
void write_page(Profile& profile, const std::string& file, convert::ExportStream& sink);

}  // namespace kymo::memory
