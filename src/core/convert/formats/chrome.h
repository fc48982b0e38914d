// Exports a trace to Chrome's JSON format, in the compact dialect (chrome_writer.h). Perfetto, chrome://tracing, HTA
// and all tools for PyTorch traces read it.
//
// Events have the form of Kineto's traces, so that tools for these find what they look for: kineto.h has the names.
//
//   nested range           X, a complete slice; a range without an end lasts until the last event of its process, and
//                          has the argument finished: false
//   range across threads   b and e with an id that is unique in its process
//   instant, sample        i, thread scope
//   allocation, free       i named [memory], with the bytes, the memory in use and the stack; and C, the memory in use
//   counter                C
//   flow                   s, t, f with the name of its beginning; only arrows with both ends (flows.h), each at a time
//                          inside a slice. Other points of flows are instants
//   launch and its work    s and f named ac2g, at the starts of the two slices; one arrow for each slice of the work
//   fields, colour         args ("colour": "#rrggbb", because the format has only fixed colour names)
//
// An event that the format has no word for, or that has Kineto's name, has a note (event_note.h), so that an import
// into Kymo restores it.
//
// Operators and annotations have a number, "External id". A launch and its work have the number of the operation around
// the launch.
//
// Times are microseconds with three decimals after baseTimeNanoseconds, which is the same for all traces of one quarter
// of a year. So traces of several ranks can be merged. Ranges that overlap others of their thread have their own rows,
// "name (lane n)". Losses, the tool's own cost, command lines and versions are in the object "kymo".
#pragma once

#include <string>

#include "convert/events.h"
#include "convert/export_stream.h"
#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::convert {

// Streams: a few hundred bytes per event, memory for one chunk. Does not finish the sink. Throws what the sink throws.
WalkReport write_chrome(const trace::Reader& reader, ExportStream& sink);

// {"processes": [...]}: what an export says of the processes, or of those of a group, so that an import into Kymo knows
// them again. Other exports have it too.
std::string processes_json(const trace::Reader& reader, const Places& places, const Group* group);

}  // namespace kymo::convert
