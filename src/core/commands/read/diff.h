// What changed between traces, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/diff/diff.h"

namespace kymo::cli {

// With the exit code of the command, if it was one, and with notes if there can be some.
std::string diff_json(const analyze::Diff& diff, std::optional<int> exit_code,
                      const std::vector<std::string>* notes = nullptr);

// The table of `kymo diff`.
std::string diff_text(const analyze::Diff& diff);
// 0: nothing is slower, 1: something is slower by more than this share of an iteration, 3: undecided.
int diff_exit_code(const analyze::Diff& diff, std::optional<double> fail_above);

}  // namespace kymo::cli
