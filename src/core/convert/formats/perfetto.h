// Writes Perfetto's own trace format: packets of protocol buffers, for ui.perfetto.dev and its trace processor.
//
// How events are converted:
//
//   nested range           a slice on its thread's track, or on a lane below it; without an end it stays open
//   range across threads   a slice on a track below its process; as many tracks as ranges overlap
//   instant, sample        an instant
//   allocation, free       an instant with the bytes, the memory in use and the stack; a counter of the memory in use
//   counter                a counter track below its process; values of a counter with several number types, and
//                          values above the largest signed integer, are doubles
//   flow                   an instant with the flow's id, at its own time: an arrow must not start before its cause
//   launch and its work    a flow between the two slices
//   fields, colour         typed debug annotations
//
// An event that the format has no word for has a note (event_note.h), so that an import into Kymo restores it.
//
// Times are the host's CLOCK_MONOTONIC, and the file relates it to CLOCK_BOOTTIME and the wall clock. If a trace comes
// from several hosts, whose monotonic clocks are not related, times are the wall clock.
#pragma once

#include "convert/events.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::convert {

// Streams: about 60 bytes per range, memory for one chunk. Does not finish the sink. Throws what the sink throws.
WalkReport write_perfetto(const trace::Reader& reader, ExportStream& sink);

}  // namespace kymo::convert
