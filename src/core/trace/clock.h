// The clock of a trace: from a clock domain of the file to base::ClockMap, which converts its ticks.
#pragma once

#include "base/clock_map.h"
#include "trace/model.h"

namespace kymo::trace {

using base::ClockMap;

// Real time has the rate of monotonic time, so that setting the system's clock changes no duration. The pairs of a file
// are untrusted; ClockMap can handle that.
inline ClockMap clock_map(const ClockDomain& domain) {
  return {{domain.period_numerator, domain.period_denominator, domain.wrap_bits}, domain.pairs};
}

}  // namespace kymo::trace
