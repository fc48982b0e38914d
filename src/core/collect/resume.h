// What a trace already contains of a process whose collector stopped before its end.
#pragma once

#include "collect/source.h"
#include "trace/reader.h"

namespace kymo::collect {

// The positions of a writer's rings when its collector stopped, from its last chunks.
Resume resume_of(const trace::Reader& reader, const trace::WriterId& writer);

}  // namespace kymo::collect
