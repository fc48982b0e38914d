// Reads the SQLite export of Nsight Systems (`nsys export --type sqlite`). Tables and columns are found by their names;
// what an export does not have is not missed.
//
//   table                                    becomes
//   CUPTI_ACTIVITY_KIND_RUNTIME, _DRIVER     ranges of threads, with the correlation of their work
//   CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY,     ranges of a device's queue
//     _MEMSET, _SYNCHRONIZATION, _GRAPH_TRACE
//   CUDA_GPU_MEMORY_USAGE_EVENTS             allocations and frees
//   NVTX_EVENTS                              ranges, ranges across threads, instants
//   OSRT_API and every other table with      ranges of threads, with the name of the table as category
//     start, end, globalTid and a name
//
// Categories are Kineto's where it has one: kernel, gpu_memcpy, cuda_runtime, …
#pragma once

#include <cstdint>

#include "import/builder/trace_builder.h"
#include "import/sqlite_file.h"

namespace kymo::import {

// Adds all events of the file. What cannot be read is in the builder's losses. Returns when the times of the file
// begin, in nanoseconds since 1970. Throws kymo::Error if the file is not such an export.
int64_t read_nsys(SqliteFile& file, TraceBuilder& builder);

}  // namespace kymo::import
