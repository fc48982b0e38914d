// A module of the IR as text, for people and for tests.
//
// The text is like C: every operation is in parentheses, a conversion is the name of its type, and each name has the
// number of the object that it names. An expression that nests deeper than 500 levels is cut off.
#pragma once

#include <string>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

std::string print(const Module& module);
std::string print(const Function& function);
std::string print(const Expression& expression);

}  // namespace kymo::shader::ir
