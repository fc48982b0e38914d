// && and || with a left value, and a right one that is lowered only if it is needed.
#pragma once

#include <utility>

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

template <typename Right>
Value Lowering::short_circuit(std::string_view op, const Value& left, Right right, Location at) {
  const bool is_and = op == "&&";
  if (left.type->is_vector()) {  // componentwise: both sides are evaluated
    const Value other = right();
    const Type* flags = table_.with_scalar(left.type, table_.get(TypeKind::Bool));
    return arithmetic(is_and ? "&" : "|", rvalue(as_number(left, flags, at)), rvalue(as_number(other, flags, at)), at);
  }
  const ir::Expression* first = truth(left, at, is_and ? "the left side of &&" : "the left side of ||");
  if (first->kind == ir::ExpressionKind::Constant && (first->bits != 0) != is_and) return rvalue(first);
  ir::Block block;
  const ir::Expression* second = nullptr;
  {
    const Into into(*this, block);
    const Value other = right();
    if (other.type != nullptr && other.type->is_vector()) {
      const Type* flags = table_.with_scalar(other.type, table_.get(TypeKind::Bool));
      const Value all = rvalue(build(at).splat(first, other.type->count));
      const Value both = arithmetic(is_and ? "&" : "|", all, rvalue(as_number(other, flags, at)), at);
      if (!block.empty())
        throw Rejected{at, "a vector behind " + std::string(op) + " must have no effects: use a variable"};
      return both;
    }
    second = truth(other, at, is_and ? "the right side of &&" : "the right side of ||");
  }
  if (first->kind == ir::ExpressionKind::Constant) {  // it does not decide
    body_.block->insert(body_.block->end(), block.begin(), block.end());
    return rvalue(second);
  }
  if (block.empty()) return rvalue(is_and ? build(at).logical_and(first, second) : build(at).logical_or(first, second));
  ir::Variable& result = local(is_and ? "both" : "either", table_.get(TypeKind::Bool), first, at);
  const ir::Expression* so_far = build(at).variable(result);
  block.push_back(build_.assign(so_far, second));
  emit(build_.if_(is_and ? so_far : build_.logical_not(so_far), std::move(block)));
  settled_.insert(&result);
  return rvalue(so_far);
}

}  // namespace kymo::shader
