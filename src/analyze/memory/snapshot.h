// A trace's allocations as the snapshot of PyTorch's allocator that memory_viz draws: a pickled dictionary.
//
//   segments              the areas in which addresses lay, each with what was alive in it at the end and the gaps
//   device_traces         for each memory, in the order of time: "segment_alloc" when an area is first used, "alloc"
//                         (with frames; user_metadata is the range around it), "free_requested", "free_completed"
//   allocator_settings    empty
//   external_annotations  empty
//
// Consistent with itself: events lie in areas, returns have their allocations, blocks fill their area. What has no
// address, or one beyond 2^63, is left out.
#pragma once

#include "analyze/memory/profile.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::memory {

// Reads the trace once, and once more for each memory. Does not finish the sink.
void write_snapshot(const trace::Reader& reader, const std::string& device, convert::ExportStream& sink);

}  // namespace kymo::memory
