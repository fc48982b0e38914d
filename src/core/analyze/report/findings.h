// What would save the most time, from the numbers of a report.
#pragma once

#include <vector>

#include "analyze/report/report.h"

namespace kymo::analyze {

// At most three, the largest saving first. A finding below one percent of the window is left out.
std::vector<Finding> find_findings(const Report& report);

}  // namespace kymo::analyze
