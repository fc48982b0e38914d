// Writes a result as a Kymo trace (docs/format.md), which `kymo stats`, `kymo export` and the rest read.
#pragma once

#include <string>

#include "edge/result.h"

namespace kymo::edge {

// Throws kymo::Error with the path and the reason if the file cannot be written.
void write_kymo_trace(const ResultData& result, const std::string& path);

}  // namespace kymo::edge
