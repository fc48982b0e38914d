// What to do next, from the numbers of a report.
#pragma once

#include <vector>

#include "analyze/report/report.h"

namespace kymo::analyze {

// At most three. Ranges that have not ended come first, then what would save the most time. A finding below one percent
// of the window is left out. None promises more than the report has numbers for.
std::vector<Finding> findings_of(const Report& report);

}  // namespace kymo::analyze
