// What to say about a trace that is pushed and is not as it should be.
#pragma once

#include <string>
#include <vector>

#include "push/trace_rows.h"

namespace kymo::push {

// One line each; `file` is named in all of them.
std::vector<std::string> warnings_of(const RowHead& head, const std::string& file);

}  // namespace kymo::push
