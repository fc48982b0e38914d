// Survives a segment that somebody cuts short while it is mapped: touching what is gone is a SIGBUS otherwise.
//
// A handler puts memory of this process in the place of the mapping, so that the access goes through; what was in the
// segment is lost, and whoever asks is told. A SIGBUS of anything else goes to the handler that was there before.
#pragma once

#include "record/segment.h"

namespace kymo::record {

// Whose side the mapping is: the program's own recording ends with its segment, a collector goes on with others.
enum class Side : uint8_t { Program, Collector };

// From now on. Without effect where too many are guarded (256).
void guard_against_cuts(const Mapping& mapping, Side side) noexcept;
bool was_cut(const Mapping& mapping) noexcept;
// Before it is unmapped.
void end_guard(const Mapping& mapping) noexcept;

}  // namespace kymo::record
