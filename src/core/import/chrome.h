// Reads Chrome's JSON trace format, with Kineto's conventions: what PyTorch, Chrome, Perfetto's old exports and Kymo
// itself write.
//
//   phase                  becomes
//   X; B and E             a range
//   i, I, R; n             an instant
//   C                      a counter for each argument
//   s, t, f                the points of a flow; not Kineto's "ac2g" arrows, which say the same as the correlations
//   b and e, S and F       a range across threads
//   M                      the names of processes and threads
//
// As in a trace that Kymo records, a Kineto launch and its kernel have the same correlation, streams of a GPU are
// device queues of the process that launched the work, and "[memory]" instants are allocations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "import/builder/trace_builder.h"
#include "import/byte_source.h"

namespace kymo::import {

struct ChromeOptions {
  unsigned threads = 0;    // 0: one for each processor
  size_t piece_bytes = 0;  // what a thread parses at a time; 0: the default
  bool range_values = true;
};

// Adds all events of the file. What cannot be read is in the builder's losses. Returns when the times of the file
// begin, in nanoseconds since 1970. The result does not depend on the number of threads. Throws kymo::Error if the file
// is not such a trace.
int64_t read_chrome_with(ByteSource& source, TraceBuilder& builder, const ChromeOptions& options);
int64_t read_chrome(ByteSource& source, TraceBuilder& builder);

}  // namespace kymo::import
