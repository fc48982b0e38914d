// Opening a trace for a command: first what dead processes left behind is brought in, then the file is read.
#pragma once

#include <string>

#include "trace/reader.h"

namespace kymo::cli {

// Says on standard error what was brought in; not being able to is a warning, since what is in the file can still be
// read. Throws kymo::Error when the file cannot.
trace::Reader open_trace(const std::string& path);

}  // namespace kymo::cli
