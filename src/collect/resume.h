// What a trace already holds of a process whose collector stopped before its end.
#pragma once

#include "collect/source.h"
#include "trace/reader.h"

namespace kymo::collect {

// Where a writer's rings were when its collector stopped: as its last chunks say.
Resume resume_of(const trace::Reader& reader, const trace::WriterId& writer);

}  // namespace kymo::collect
