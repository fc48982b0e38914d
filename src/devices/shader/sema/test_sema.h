// For tests: from a source to its IR as text, or its errors.
//
// The numbers after the names of variables and functions are removed, so that a test shows only its topic. Every module
// is verified.
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
// The errors of a source; empty: none.
std::string faults(std::string_view source, const Options& options = {});
// Of such a kernel, without line numbers.
std::string faults_of(std::string_view body, std::string_view before = "", const Options& options = {});

}  // namespace kymo::shader
