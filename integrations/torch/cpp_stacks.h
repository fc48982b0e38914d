// The C++ stack of a call as one text: "relu (net.cc:12);forward (net.cc:30);main (train.cc:8)", innermost first.
//
// A thread keeps the stacks it met lately; a new one is put into words as it comes, from names that all threads share.
// The first name in a file with debug information may take a quarter of a second: prepare_cpp_stacks() does that before
// anything is recorded.
#pragma once

#include <string>

namespace kymo::libtorch {

void prepare_cpp_stacks() noexcept;

// Of the calling thread, without the frames of libtorch that only call back. Good until its next call; null where
// nothing is known of it.
const std::string* cpp_stack() noexcept;

}  // namespace kymo::libtorch
