// Exports a trace. The extension of the file selects the format.
//
//   .json                          Chrome's format (chrome.h)
//   .pftrace, .perfetto-trace      Perfetto's own (perfetto.h)
//   .csv                           one line for each event (csv.h)
//
// With .gz after it, the file is compressed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

// True if the extension selects a format.
bool is_export_path(std::string_view path);

// The file appears under its name, with mode 0600, when it is complete (base/temporary_file.h). Throws
// kymo::InvalidArgument if the extension is unsupported, and kymo::Error with path and reason if the file cannot be
// written, before anything is read. Returns the problems of the reader, and those found while reading the events.
std::vector<trace::Problem> export_trace(const trace::Reader& reader, const std::string& path);

}  // namespace kymo::convert
