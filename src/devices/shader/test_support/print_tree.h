// A tree as compact text, for people and for tests, with everything that the parser found.
//
// Operators are in parentheses. A cast is <T>(x), independent of how it was written, unless it has a name. Among
// template arguments, a name in parentheses was parsed as a value. Statements and declarations are on one line; the
// top-level declarations have one line each.
#pragma once

#include <string>

#include "shader/parse/ast.h"

namespace kymo::shader::ast {

std::string print(const Name& name);
std::string print(const TypeName& type);
std::string print(const Expression& expression);
std::string print(const Statement& statement);
std::string print(const Declaration& declaration);
std::string print(const Tree& tree);

}  // namespace kymo::shader::ast
