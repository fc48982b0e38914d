// A trace in the format that a file's name asks for.
//
//   .json                          Chrome's format (chrome.h)
//   .json.gz                       the same, compressed
//   .pftrace, .perfetto-trace      Perfetto's own (perfetto.h)
//   .csv                           one line for each event (csv.h)
#pragma once

#include <string>

#include "trace/reader.h"

namespace kymo::convert {

// The file appears under its name, mode 0600, when it is complete (base/atomic_file.h). Throws
// kymo::InvalidArgument for any other ending, and kymo::Error with path and reason where the file cannot be written,
// before anything is read.
void export_trace(const trace::Reader& reader, const std::string& path);

}  // namespace kymo::convert
