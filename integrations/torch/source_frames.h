// Places in TorchScript's source as text: "net.py(12): forward", innermost first, joined by ";".
#pragma once

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/scope.h>

#include <string>
#include <vector>

namespace kymo::edge {

// Of what is behind a debug handle.
std::string frames_text(const torch::jit::DebugInfoTuple& info);

// Of the interpreter's stack while it runs.
std::string frames_text(const std::vector<torch::jit::StackEntry>& stack);

}  // namespace kymo::edge
