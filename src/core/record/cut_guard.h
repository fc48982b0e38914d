// Protects the process if someone truncates a segment while it is mapped. Without it, an access to the missing part is
// a SIGBUS.
//
// A signal handler replaces the mapping with memory of this process, so that the access succeeds. The data of the
// segment is lost; was_cut() reports this. Any other SIGBUS goes to the handler that was installed before.
#pragma once

#include "record/segment.h"

namespace kymo::record {

// Who owns the mapping. Program: recording ends with its segment. Collector: it continues with other segments.
enum class Side : uint8_t { Program, Collector };

// Starts the protection. No effect if 256 mappings are already protected.
void guard_against_cuts(const Mapping& mapping, Side side) noexcept;
bool was_cut(const Mapping& mapping) noexcept;
// Call it before unmapping.
void end_guard(const Mapping& mapping) noexcept;

}  // namespace kymo::record
