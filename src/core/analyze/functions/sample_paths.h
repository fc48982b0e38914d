// The samples of a trace as paths for a flame graph: process, thread, the innermost range, functions.
#pragma once

#include "analyze/functions/samples.h"
#include "analyze/views/paths.h"

namespace kymo::functions {

views::Paths paths_of_samples(Samples& samples, const views::PathOptions& options = {});

}  // namespace kymo::functions
