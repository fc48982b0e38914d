// Places in TorchScript as text: source frames ("net.py(12): forward", innermost first, joined by ";") and the module
// hierarchy.
#pragma once

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/scope.h>

#include <string>
#include <vector>

namespace kymo::edge {

// The source frames of a debug handle.
std::string frames_text(const torch::jit::DebugInfoTuple& info);

// The source frames of the interpreter's stack while it runs.
std::string frames_text(const std::vector<torch::jit::StackEntry>& stack);

// "top(C)::forward.A0(A)::forward", of the interpreter's module hierarchy.
std::string hierarchy_text(const std::vector<std::string>& parts);

}  // namespace kymo::edge
