// The C++ stack of a call as one text: "relu (net.cc:12);forward (net.cc:30);main (train.cc:8)", innermost first.
//
// A thread keeps its most recent stacks. A new stack is converted to text at once, from names that all threads share.
// The first name in a file with debug information may take a quarter of a second: prepare_cpp_stacks() does that before
// anything is recorded.
#pragma once

#include <string>

namespace kymo::libtorch {

void prepare_cpp_stacks() noexcept;

// The stack of the calling thread, without the frames of libtorch that only call back. Valid until the thread's next
// call; null if nothing is known about it.
const std::string* cpp_stack() noexcept;

}  // namespace kymo::libtorch
