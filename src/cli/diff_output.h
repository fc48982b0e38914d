// What changed between traces, as JSON.
#pragma once

#include <optional>
#include <string>

#include "analyze/diff/diff.h"

namespace kymo::cli {

// With the exit code of the command, if it was one.
std::string diff_json(const analyze::Diff& diff, std::optional<int> exit_code);

}  // namespace kymo::cli
