// The version in traces and of `kymo --version`.
#pragma once

#include "base/version.h"

namespace kymo::collect {
using base::kVersion;
}
