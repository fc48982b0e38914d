// Numbers as people read them, for the commands: base/units.h.
#pragma once

#include "base/units.h"

namespace kymo::cli {

using base::bytes_text;
using base::count_of;
using base::count_text;
using base::date_text;
using base::duration_text;
using base::number_text;
using base::offset_text;
using base::percent_text;

}  // namespace kymo::cli
