// Copies a trace as its Reader shows it: only what is inside the windows of its writers (trace/reader.h), and only some
// of its tracks.
#pragma once

#include <functional>

#include "convert/places.h"
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

// The same for the chosen tracks. If not all tracks are chosen, the copy has only the processes with a chosen track,
// and only the losses and costs that are about these tracks or about the whole process. A range across threads that
// begins on a chosen track keeps its end, and allocations and samples keep the descriptions of their stacks, also on
// other tracks: these tracks then have only such events. This needs memory for the handles of ranges across threads,
// and reads the points twice.
void copy_trace(const trace::Reader& reader, const TrackChoice& tracks, trace::Writer& writer);

}  // namespace kymo::convert
