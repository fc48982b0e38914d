// Everything in a Chrome trace that is not an event: its origin, the losses, the names of its rows.
#pragma once

#include <cstdint>

#include "convert/events.h"
#include "convert/flows.h"
#include "convert/json_field.h"
#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::convert {

// The zero of all times in the export, in nanoseconds since 1970.
int64_t chrome_base_ns(const trace::Reader& reader);

// From the opening brace to the start of the array of events.
void append_chrome_header(TextBuffer& out, const trace::Reader& reader, const Places& places, int64_t base_ns);

// Names and order of all processes and threads.
void append_chrome_rows(JsonArray& events, const Places& places);
void append_chrome_row(JsonArray& events, const Place& place, uint16_t lane, uint64_t tid);

// From the end of the array of events to the end of the file.
void append_chrome_trailer(TextBuffer& out, const WalkReport& report, const Flows& flows);

}  // namespace kymo::convert
