// The classes of events in the trace of a sampled process.
//
//   "sample"      Sample {node}: the thread was on a processor, with this stack
//   "on CPU"      Sample {ns}: since the last one, the thread was on a processor for so long
//   "off CPU"     Sample {ns, preempted}: from then on, the thread was on no processor for so long
//   "off CPU"     Sample {ns, preempted, node}: the same, with the stack that it had then
//   "page fault"  Sample {address, count, node}: the thread used memory that was not mapped yet
//   "stack node"  Instant {node, parent, address}, as of the heap recorder (docs/heap.md)
//   "module"      Instant {path, base, size, build_id}, also as there
//   "symbol"      Instant {address, name}: the function with this address in stack nodes, if no file has its name
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model.h"

namespace kymo::sample {

enum EventClassId : uint32_t { kSample = 1, kOffCpu, kNode, kModule, kSymbol, kOnCpu, kWait, kPageFault };

const std::vector<trace::EventClass>& event_classes();

}  // namespace kymo::sample
