// What a collector cannot read from /proc after the process has ended.
#pragma once

#include "record/layout.h"

namespace kymo::record {

// Of this process. What does not fit is left out.
void fill_origin(SegmentHeader& header) noexcept;

}  // namespace kymo::record
