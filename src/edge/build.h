// From what was recorded to a result: times, the tree, where in the module, FLOPs, memory, counts, stacks.
//
// An operation's parent is the one that was open around it. A backend's event is in microseconds and its thread has no
// record of where it belongs, so it is found by time: its parent is the innermost operation of the thread that contains
// it, a microsecond more or less at either end; else the operation, overlapping it, that was open when it was reported;
// else it has none. One that lies within another of the same backend, in the same operation, is inside that; those that
// overlap otherwise stand side by side.
//
// Events of a thread stand in the order they began; one that claims to have begun before its parent, right after it.
// Times stay as they came, but that nothing ends before it begins: that is told as a loss.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edge/log.h"
#include "edge/result_data.h"
#include "kymo/edge_module.h"

namespace kymo::edge {

struct BuildOptions {
  bool stack = false, flops = false, modules = false, adjust_vulkan = false;
  bool inputs = true;                    // false: they were recorded for the FLOPs alone
  std::vector<std::string> losses = {};  // what is known of already: told first
};

// After the log has ended. What the module throws while it is asked becomes the text of a loss, not an exception.
// Some 300 ns an event; the C++ stacks, where asked for, take as long as their symbols do (stack/symbols.h).
std::shared_ptr<const ResultData> build_result(const LogContents& log, const Module& module,
                                               const BuildOptions& options);

}  // namespace kymo::edge
