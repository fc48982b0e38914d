// Chrome's JSON trace format, as Kineto writes it: read by Perfetto, chrome://tracing, HTA and everything made for
// PyTorch traces.
//
// What becomes of what:
//
//   nested range           X, a complete slice; a range that never ended lasts until its process's last event and has
//                          the argument finished: false
//   range across threads   b and e with an id of its process
//   instant, allocation,   i, thread scope
//   free, sample
//   counter                C
//   flow                   s, t, f; only flows both of whose ends are there, at a time inside a slice
//   launch and its work    s and f named ac2g, at the beginnings of the two slices
//   fields, colour         args ("colour": "#rrggbb": the format itself knows only fixed colour names)
//
// Times are microseconds with three decimals after baseTimeNanoseconds, which is the same for all traces of one quarter
// of a year: traces of several ranks can be put together. Ranges that overlap others of their thread are rows of their
// own, "name (lane n)". Losses, the tool's own cost, command lines and versions stand in the object "kymo".
#pragma once

#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::convert {

// Streams: a few hundred bytes for each event, memory for one chunk. Does not finish the sink. Throws what the sink
// throws.
void write_chrome(const trace::Reader& reader, ExportStream& sink);

}  // namespace kymo::convert
