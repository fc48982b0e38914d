// Reads the profiles of JAX and TensorFlow (.xplane.pb): an XSpace, which is a protocol buffer.
//
//   in the file                                       becomes
//   the file                                          a process
//   a line of a plane of the host                     a thread
//   a plane of a device ("/device:GPU:0")             a device, and its lines are queues
//   an event with a duration                          a range
//   an event without one                              an instant
//   the lines of a device that repeat work by         annotations of their queue, which are no work
//   module, step or name ("XLA Modules", "Steps", …)
//   the stats of an event                             fields; correlation_id connects a launch and its work
#pragma once

#include <cstdint>
#include <string_view>

#include "import/builder/trace_builder.h"
#include "import/byte_source.h"

namespace kymo::import {

// Adds all events of the file, which is read into memory. What cannot be read is in the builder's losses. Returns when
// the times of the file begin, in nanoseconds since 1970. Throws kymo::Error if the file is not such a profile.
int64_t read_xplane(ByteSource& source, TraceBuilder& builder);

// True if these are the first bytes of such a file. It begins like a Perfetto trace, but with the name of a plane.
bool looks_like_xplane(std::string_view head);

}  // namespace kymo::import
