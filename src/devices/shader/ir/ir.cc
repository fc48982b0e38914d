#include "shader/ir/ir.h"

#include <utility>

namespace kymo::shader::ir {
namespace {

bool has_component_twice(const Expression& swizzle) {
  uint32_t seen = 0;
  for (uint32_t i = 0; i < swizzle.index && i < 4; ++i) {
    const uint32_t bit = 1U << swizzle.swizzle[i];
    if ((seen & bit) != 0) return true;
    seen |= bit;
  }
  return false;
}

}  // namespace

bool is_place(const Expression& expression) {
  for (const Expression* at = &expression;; at = at->operands[0]) {
    switch (at->kind) {
      case ExpressionKind::Variable:
      case ExpressionKind::Dereference:
        return true;
      case ExpressionKind::Member:
      case ExpressionKind::Index:
        break;
      case ExpressionKind::Swizzle:
        if (has_component_twice(*at)) return false;
        break;
      default:
        return false;
    }
  }
}

const Expression& place_root(const Expression& place) {
  const Expression* at = &place;
  while (at->kind == ExpressionKind::Member || at->kind == ExpressionKind::Index || at->kind == ExpressionKind::Swizzle)
    at = at->operands[0];
  return *at;
}

std::vector<Function*> Module::kernels() const {
  std::vector<Function*> found;
  for (Function* function : functions)
    if (function->is_kernel) found.push_back(function);
  return found;
}

Expression& Module::make_expression(ExpressionKind kind, const Type* type, Location at) {
  Expression& made = expressions_.make();
  made.kind = kind;
  made.type = type;
  made.at = at;
  return made;
}

Statement& Module::make_statement(StatementKind kind, Location at) {
  Statement& made = statements_.make();
  made.kind = kind;
  made.at = at;
  return made;
}

Variable& Module::make_variable(std::string name, const Type* type, Space space) {
  Variable& made = variables_.make();
  made.name = std::move(name);
  made.type = type;
  made.space = space;
  made.id = static_cast<uint32_t>(variables_.size());
  return made;
}

Function& Module::make_function(std::string name) {
  Function& made = functions_.make();
  made.name = std::move(name);
  made.id = static_cast<uint32_t>(functions_.size());
  return made;
}

}  // namespace kymo::shader::ir
