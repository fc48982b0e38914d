// Reads a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot), a pickle.
//
//   in the file                          becomes
//   alloc, free_completed                an allocation or a free in the memory "cuda:0", with its stack, and a value of
//   the
//                                        counter "cuda:0 allocated"
//   segment_alloc, segment_map,          an instant, and a value of "cuda:0 reserved": what the allocator has from the
//     segment_free, segment_unmap        driver
//   free_requested, oom, snapshot,       instants
//     external_annotations
//   blocks and segments without an       the same at the start
//     allocation in the history
//
// The pickle never runs code (pickle_reader.h).
#pragma once

#include <cstdint>

#include "import/builder/trace_builder.h"
#include "import/byte_source.h"

namespace kymo::import {

// Adds all events of the file. Returns when the times of the file begin, in nanoseconds since 1970. Throws kymo::Error
// if the file is not such a snapshot.
int64_t read_snapshot(ByteSource& source, TraceBuilder& builder);

}  // namespace kymo::import
