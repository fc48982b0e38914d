// Everything in a Chrome trace that is not an event: where it comes from, what was lost, what its rows are called.
#pragma once

#include <cstdint>

#include "convert/events.h"
#include "convert/flows.h"
#include "convert/json_text.h"
#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::convert {

// Nanoseconds since 1970 that all times of the export count from.
int64_t chrome_base_ns(const trace::Reader& reader);

// From the opening brace up to where the array of events begins.
void append_chrome_header(TextBuffer& out, const trace::Reader& reader, const Places& places, int64_t base_ns);

// Names and order of all processes and threads.
void append_chrome_rows(JsonArray& events, const Places& places);
void append_chrome_row(JsonArray& events, const Place& place, uint16_t lane, uint64_t tid);

// From behind the array of events to the end.
void append_chrome_trailer(TextBuffer& out, const WalkReport& report, const Flows& flows);

}  // namespace kymo::convert
