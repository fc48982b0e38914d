// Everything in the export of a trace to Chrome's JSON that is not an event: its origin, the losses, the names of its
// rows.
#pragma once

#include <cstdint>

#include "convert/chrome_writer.h"
#include "convert/events.h"
#include "convert/flows.h"
#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::convert {

// The earliest time in the trace, in nanoseconds since 1970; 0 if there are no events.
uint64_t chrome_start_ns(const trace::Reader& reader);

// The members before the events.
void write_chrome_header(CompactChromeWriter& writer, const trace::Reader& reader, const Places& places);

// Names and order of all processes and threads, and of one row.
void write_chrome_rows(CompactChromeWriter& writer, const Places& places);
void write_chrome_row(CompactChromeWriter& writer, const Place& place, uint16_t lane, uint64_t tid);

// The members after the events.
void write_chrome_trailer(CompactChromeWriter& writer, const WalkReport& report, const Flows& flows);

}  // namespace kymo::convert
