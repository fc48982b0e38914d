// Builds a result from the recorded data: times, the tree, positions in the module, FLOPs, memory, counts, stacks.
//
// The parent of an operation is the one that was open around it. A backend event has times in microseconds, and its
// thread has not recorded where it belongs, so its parent is found by time. It is the innermost operation of the thread
// that contains the event, with a tolerance of a microsecond at both ends. Otherwise it is the operation that overlaps
// the event and was open when the event was reported. Otherwise the event has no parent. An event within another one of
// the same backend, in the same operation, is a child of that one. Events that overlap in another way are siblings.
//
// The events of a thread are in the order in which they began; an event with a begin before its parent's comes directly
// after the parent. Times are not changed, except that nothing ends before it begins: that is reported as a loss.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edge/log.h"
#include "edge/result.h"
#include "kymo/edge_module.h"

namespace kymo::edge {

struct BuildOptions {
  bool stack = false, flops = false, modules = false, adjust_vulkan = false;
  bool inputs = true;                    // false: they were recorded only for the FLOPs
  std::vector<std::string> losses = {};  // losses that are already known: listed first
};

// Call it after the log has ended. If the module throws, the text of the exception becomes a loss. Takes about 300 ns
// per event; C++ stacks, if requested, take as long as their symbols do (stack/symbols.h).
std::shared_ptr<const ResultData> build_result(const LogContents& log, const Module& module,
                                               const BuildOptions& options);

}  // namespace kymo::edge
