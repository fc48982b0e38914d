// Writes the allocations of a trace as a snapshot of PyTorch's allocator, for memory_viz: a pickled dictionary.
//
//   segments              the areas of addresses, each with its live blocks at the end and the gaps between
//   device_traces         for each memory, sorted by time: "segment_alloc" when an area is first used, "alloc"
//                         (with frames; user_metadata is the range around it), "free_requested", "free_completed"
//   allocator_settings    empty
//   external_annotations  empty
//
// The snapshot is consistent: events are inside areas, frees have their allocations, blocks fill their area.
// Allocations without an address, or with one beyond 2^63, are omitted.
#pragma once

#include "analyze/memory/profile.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::memory {

// Reads the trace once, and once again for each memory. Does not finish the sink.
void write_snapshot(const trace::Reader& reader, const std::string& device, convert::ExportStream& sink);

}  // namespace kymo::memory
