// Processes that have iterations of their own. A trace has the iterations of one process, so each of them leads a
// trace; the others help one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyze/report/intervals.h"
#include "push/process_list.h"
#include "trace/reader.h"

namespace kymo::push {

struct Leader {
  size_t process = 0;  // its place in the list
  // Of its iterations:
  analyze::Interval time{};  // from the first to the last one
  uint64_t length_ns = 0;    // their sum
  bool uses_device = false;
};

// The leaders of some processes of the list, in its order: those that mark or name iterations; and if none of a process
// and its descendants does, the topmost one if they have a range that repeats, or if they are a recording before or
// after all others. Reads nothing, and returns none, if there cannot be as many as `fewest`. The reader shows all
// processes before and afterwards.
std::vector<Leader> find_leaders(trace::Reader& reader, const std::vector<Process>& processes,
                                 const std::vector<size_t>& some, size_t fewest);

}  // namespace kymo::push
