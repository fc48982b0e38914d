// The paths of a flame graph, by what its frames stand for: for `kymo flame --by` and for the page of `kymo view`.
#pragma once

#include <cstdint>
#include <map>

#include "analyze/views/paths.h"
#include "trace/reader.h"

namespace kymo::functions {

enum class FlameBy : uint8_t {
  Range,     // of threads and devices
  Function,  // time on a processor, by function
  Wait,      // time off the processors, likewise
  Device,    // time of devices: the ranges of the host that launched the work, and the work
};

// Never throws for a damaged trace.
views::Paths flame_paths(FlameBy by, const trace::Reader& reader, const views::PathOptions& options = {});

// Of work of devices in these windows of its writers. The reader also has what is before them, such as the launches of
// that work.
views::Paths device_paths_in(const std::map<trace::WriterId, trace::Window>& part, const trace::Reader& reader);

}  // namespace kymo::functions
