// Checks that a module follows the conventions of ir.h: for tests, and for the fuzzer of the translator.
#pragma once

#include <string>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Returns an empty text, or the first fault with the function and the line that have it. Nesting deeper than 1,000
// levels is a fault.
std::string verify(const Module& module);

}  // namespace kymo::shader::ir
