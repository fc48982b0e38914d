// A tree as text, for reading and for tests: all that the parser found out, in little room.
//
// Operators have parentheses around them. A cast is <T>(x), however it was written, unless it has a name. Among
// template arguments, a name in parentheses was taken for a value. Statements and declarations are on one line; those
// of the whole tree have a line each.
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
