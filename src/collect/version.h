// The version that traces carry and `kymo --version` prints.
#pragma once

#include "base/version.h"

namespace kymo::collect {
using base::kVersion;
}
