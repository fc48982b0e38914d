// The names that a piece of a tree uses, whatever they stand for: what a lambda may capture.
#pragma once

#include <string_view>
#include <unordered_set>

#include "shader/parse/ast.h"

namespace kymo::shader {

// The first part of every name in values; "this" too. Names that the piece declares itself are among them.
void collect_names(const ast::Expression& expression, std::unordered_set<std::string_view>& into);
void collect_names(const ast::Statement& statement, std::unordered_set<std::string_view>& into);

}  // namespace kymo::shader
