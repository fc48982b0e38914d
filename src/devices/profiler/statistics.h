// How often and how long each operation ran, as tables: times in milliseconds with three decimals.
#pragma once

#include <cstdint>
#include <string>

#include "kymo/profiler.h"

namespace kymo::profiler {

// The tables of `which` (kOperationStatistics, kCopyStatistics, kFallbackStatistics of masks.h), in this order. Rows
// keep their order. A table without rows is one line that says so.
std::string tables_text(const Statistics& statistics, uint32_t which);

}  // namespace kymo::profiler
