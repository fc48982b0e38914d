// What sources become, for tests: the IR as text, or what was said about them.
//
// Numbers behind the names of variables and functions are left out, so that a test says only what it is about. Every
// module is verified on the way.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kymo/translate.h"
#include "shader/sema/sema.h"

namespace kymo::shader {

struct AnalyzedSource {
  std::string ir;      // empty where there were errors
  std::string faults;  // "line: error: text", a line each
};

// With or without the standard library, which takes its time to read.
AnalyzedSource analyzed(std::string_view source, const Options& options = {}, bool with_library = false);

// All of it; a fault fails the test.
std::string lowered(std::string_view source, const Options& options = {});
std::string lowered_with_library(std::string_view source, const Options& options = {});
// The statements of `kernel void f(device float* a, device int* b, uint i [[thread_position_in_grid]]) { … }`, without
// the indent and without the line for i; `before` stands before it.
std::string lines(std::string_view body, std::string_view before = "");
// What is wrong with a source; empty: nothing.
std::string faults(std::string_view source, const Options& options = {});
// Of such a kernel, without line numbers.
std::string faults_of(std::string_view body, std::string_view before = "", const Options& options = {});

}  // namespace kymo::shader
