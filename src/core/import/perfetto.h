// Reads Perfetto's own trace format (.pftrace, .perfetto-trace): packets of protocol buffers.
//
//   in the file                     becomes
//   slice begin and end             a range of its track
//   instant                         an instant
//   counter, extra counters         values of a counter
//   flow ids of an event            the points of a flow
//   debug annotations               fields; dictionaries and lists as JSON text
//   correlation id                  the correlation of a launch and its work
//
// The events of a file that Kymo exported become what they were: allocations, samples, flows and ranges across threads
// (convert/event_note.h), lanes, and queues of devices.
#pragma once

#include <cstdint>

#include "import/builder/trace_builder.h"
#include "import/byte_source.h"

namespace kymo::import {

// Adds all events of the file. What cannot be read is in the builder's losses. Returns when the times of the file
// begin, in nanoseconds since 1970. Throws kymo::Error if the file is not such a trace.
int64_t read_perfetto(ByteSource& source, TraceBuilder& builder);

}  // namespace kymo::import
