// Values that must be known during the translation.

#include <algorithm>

#include "shader/ir/evaluate.h"
#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

// `budget`: the number of expressions to look at, because an expression may be part of several.
bool divides_by_zero(const ir::Expression& value, int& budget) {
  if (--budget < 0) return false;
  const bool divides = value.kind == ir::ExpressionKind::Binary && value.type->is_integer() &&
                       (value.op == ir::Operator::Divide || value.op == ir::Operator::Remainder);
  if (divides && value.operands[1]->kind == ir::ExpressionKind::Constant && value.operands[1]->bits == 0) return true;
  return std::ranges::any_of(value.operands,
                             [&](const ir::Expression* each) { return divides_by_zero(*each, budget); });
}

}  // namespace

Rejected Lowering::not_constant(std::string_view what, const ir::Expression* value, Location at) {
  int budget = 1000;
  if (value != nullptr && divides_by_zero(*value, budget)) return {at, std::string(what) + " divides by zero"};
  return {at, std::string(what) + " must be known when the shader is translated"};
}

const ir::Expression* Lowering::evaluated(const ir::Expression* value, const ir::Block& statements) {
  if (statements.empty() && value->kind == ir::ExpressionKind::Constant) return value;
  return ir::evaluate_to_expression(module_, statements, *value, &steps_);
}

const ir::Expression* Lowering::constant(const ast::Expression& expression, Scope& scope, std::string_view what) {
  ir::Block statements;
  const ir::Expression* value = nullptr;
  {
    const Restore<bool> effects(body_.has_effects);
    const Restore<bool> unevaluated(body_.is_unevaluated);
    body_.is_unevaluated = false;
    const Into into(*this, statements);
    Value lowered = this->expression(expression, scope);
    if (lowered.type == nullptr || !lowered.type->is_enum()) lowered = number_of(lowered, expression.at);
    if (is_void(lowered)) throw Rejected{expression.at, std::string(what) + " has no value: it is void"};
    value = read(lowered);
  }
  const ir::Expression* known = evaluated(value, statements);
  if (known == nullptr) throw not_constant(what, value, expression.at);
  if (known->kind == ir::ExpressionKind::Zero && known->type->is_scalar())
    return build(expression.at).constant(known->type, 0);
  return known;
}

uint64_t Lowering::constant_integer(const ast::Expression& expression, Scope& scope, std::string_view what) {
  const ir::Expression* value = constant(expression, scope, what);
  if (value->kind != ir::ExpressionKind::Constant || value->type->is_floating()) {
    throw Rejected{expression.at, std::string(what) + " must be an integer, and is " + in_quotes(value->type)};
  }
  return value->bits;
}

bool Lowering::constant_bool(const ast::Expression& expression, Scope& scope, std::string_view what) {
  const ir::Expression* value = constant(expression, scope, what);
  if (value->kind != ir::ExpressionKind::Constant) {
    throw Rejected{expression.at, std::string(what) + " must be a bool, and is " + in_quotes(value->type)};
  }
  return convert_number(value, table_.get(TypeKind::Bool), expression.at)->bits != 0;
}

std::vector<Value> Lowering::values_of(std::span<const ast::Expression* const> list, Scope& scope) {
  ir::Block ignored;
  const Into into(*this, ignored);
  return arguments(list, scope);
}

}  // namespace kymo::shader
