// Ids for new writers.
#pragma once

#include "trace/model.h"

namespace kymo::trace {

// Never the same twice. Throws kymo::Error if the system has no random numbers.
WriterId random_writer_id();

}  // namespace kymo::trace
