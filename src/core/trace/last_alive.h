// When each process of a trace was last seen alive: by an event, or by its collector. Ranges that the process left open
// lasted at least until then.
#pragma once

#include <cstdint>
#include <map>

#include "trace/reader.h"

namespace kymo::trace {

// In nanoseconds of the host's CLOCK_MONOTONIC. For a process that still records it is now. Reads only chunk headers. A
// writer without an event on a usable clock has no entry.
std::map<WriterId, int64_t> last_alive_ns(const Reader& reader);

}  // namespace kymo::trace
