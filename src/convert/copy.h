// Copies a trace as its Reader shows it: only what is inside the windows of its writers (trace/reader.h).
#pragma once

#include <functional>

#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::convert {

// The copy has the processes, clocks, classes, costs, endings, events and losses that the reader shows, and states no
// window. What cannot be read is left out, and counted among the losses: a damaged chunk as a loss of its writer, the
// reader's problems as losses of the first writer. Uses memory for one chunk. Throws kymo::Error if the file cannot be
// written. Does not close the writer.
// `change`, if given, may change the description of each writer: its clocks, for a copy on another clock.
void copy_trace(const trace::Reader& reader, trace::Writer& writer,
                const std::function<void(trace::WriterInfo&)>& change = {});

}  // namespace kymo::convert
