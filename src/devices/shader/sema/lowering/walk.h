// The names in a part of a tree, independent of their meaning: what a lambda may capture.
#pragma once

#include <string_view>
#include <unordered_set>

#include "shader/parse/ast.h"

namespace kymo::shader {

// The first part of every name in values; "this" too. Includes names that the part itself declares.
void collect_names(const ast::Expression& expression, std::unordered_set<std::string_view>& into);
void collect_names(const ast::Statement& statement, std::unordered_set<std::string_view>& into);

}  // namespace kymo::shader
