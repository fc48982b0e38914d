// && || ?: and folds: operands that are evaluated only if they are needed.
//
// If such an operand needs no statements, it stays an expression. Otherwise the choice becomes an if and a temporary.

#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"
#include "shader/sema/lowering/short_circuit.h"

namespace kymo::shader {

Value Lowering::logical(const ast::Expression& expression, Scope& scope) {
  Value left = this->expression(*expression.operands[0], scope);
  if (left.braces != nullptr || is_void(left))
    throw Rejected{expression.at, "the left side of " + std::string(expression.op) + " has no value"};
  if (left.type->is_vector()) {
    const size_t since = mark();
    Value right = this->expression(*expression.operands[1], scope);
    protect(left, since);
    return short_circuit(
        expression.op, left, [&] { return right; }, expression.at);
  }
  if (left.type->is_struct() || left.type->is_enum()) {
    Value operands[] = {left, Value()};
    const std::string name = "operator" + std::string(expression.op);
    if (!lookup_.find(name, scope).empty() ||
        (left.type->is_struct() && !lookup_.find_in(name, *types_.class_of(left.type)->scope).empty())) {
      operands[1] = this->expression(*expression.operands[1], scope);
      if (std::optional<Value> found = overloaded(expression.op, operands, scope, expression.at)) return *found;
      return short_circuit(
          expression.op, left, [&] { return operands[1]; }, expression.at);
    }
  }
  return short_circuit(
      expression.op, left, [&] { return this->expression(*expression.operands[1], scope); }, expression.at);
}

// ---- ? : -----------------------------------------------------------------------------------------------------------

Value Lowering::conditional(const ast::Expression& expression, Scope& scope) {
  const Value chooses = this->expression(*expression.operands[0], scope);
  if (chooses.type != nullptr && chooses.type->is_vector()) {
    throw Rejected{expression.at, "the condition of ?: must be one bool, and is " + in_quotes(chooses.type) +
                                      ": use select(if_false, if_true, condition)"};
  }
  const ir::Expression* condition = truth(chooses, expression.operands[0]->at, "the condition of ?:");
  ir::Block blocks[2];
  Value values[2];
  // If the condition is constant, only one side is lowered; the other only gives its type, if it has one.
  const bool is_known = condition->kind == ir::ExpressionKind::Constant;
  for (int side = 0; side < 2; ++side) {
    const ast::Expression& operand = *expression.operands[static_cast<size_t>(side) + 1];
    const bool is_left_out = is_known && (condition->bits != 0) == (side == 1);
    const Into into(*this, blocks[side]);
    if (!is_left_out) {
      values[side] = this->expression(operand, scope);
      continue;
    }
    const Restore<bool> restore(body_.is_unevaluated);
    const Restore<bool> effects(body_.has_effects);
    body_.is_unevaluated = true;
    try {
      values[side] = this->expression(operand, scope);
    } catch (const Rejected&) {
      values[side] = Value();
    }
  }
  for (int side = 0; side < 2 && is_known; ++side) {
    if ((condition->bits != 0) == (side == 0) && values[1 - side].type == nullptr &&
        values[1 - side].braces == nullptr) {
      body_.block->insert(body_.block->end(), blocks[side].begin(), blocks[side].end());
      return values[side];
    }
  }
  return choose_value(condition, values[0], values[1], std::move(blocks[0]), std::move(blocks[1]), expression.at);
}

Value Lowering::choose_value(const ir::Expression* condition, Value if_true, Value if_false, ir::Block true_block,
                             ir::Block false_block, Location at) {
  Value* sides[] = {&if_true, &if_false};
  ir::Block* blocks[] = {&true_block, &false_block};
  const bool is_known = condition->kind == ir::ExpressionKind::Constant;
  if (is_void(if_true) || is_void(if_false)) {
    if (!is_void(if_true) || !is_void(if_false)) throw Rejected{at, "one side of ?: is void, the other is not"};
    emit(build(at).if_(condition, std::move(true_block), std::move(false_block)));
    return if_true;
  }
  // The common type of both sides.
  QualifiedType common;
  if (if_true.type != if_false.type)
    for (int side = 0; side < 2; ++side) {
      const Into into(*this, *blocks[side]);
      *sides[side] = promoted(*sides[side], at);
    }
  for (int side = 0; side < 2; ++side) {
    const Into into(*this, *blocks[side]);
    if (sides[side]->braces == nullptr) *sides[side] = decayed(*sides[side]);
  }
  const Type* a = if_true.type;
  const Type* b = if_false.type;
  const auto plain = [&](const Type* type) {
    return type != nullptr && type->is_vector() && type->packed ? table_.vector(type->inner, type->count) : type;
  };
  if (if_true.braces != nullptr && if_false.braces != nullptr)
    throw Rejected{at, "both sides of ?: are {...}: write the type before one"};
  if (if_true.braces != nullptr || if_true.is_null || (if_true.is_literal_zero && b->is_pointer())) {
    common.type = plain(b);
  } else if (if_false.braces != nullptr || if_false.is_null || (if_false.is_literal_zero && a->is_pointer())) {
    common.type = plain(a);
  } else if (plain(a) == plain(b)) {
    common.type = plain(a);
  } else if (a->is_number() && b->is_number()) {
    common.type = types_.common_type(plain(a), plain(b), at);
  } else if (a->is_pointer() && b->is_pointer() && a->space == b->space && a->inner == b->inner) {
    common.type = table_.pointer(a->inner, a->space, true);
  } else {
    QualifiedType to_a, to_b;
    to_a.type = a;
    to_b.type = b;
    const bool a_to_b = overloads_.rank(if_true, to_b) != Rank::Impossible,
               b_to_a = overloads_.rank(if_false, to_a) != Rank::Impossible;
    if (a_to_b == b_to_a) {
      throw Rejected{
          at, "the sides of ?: are " + in_quotes(a) + " and " + in_quotes(b) + ": convert one to the other's type"};
    }
    common.type = a_to_b ? b : a;
  }
  const ir::Expression* values[2] = {};
  for (int side = 0; side < 2; ++side) {
    if (is_known && (condition->bits != 0) == (side == 1)) continue;
    const Into into(*this, *blocks[side]);
    values[side] = convert(*sides[side], common, at, "a side of ?:");
  }
  if (is_known) {
    const int side = condition->bits != 0 ? 0 : 1;
    body_.block->insert(body_.block->end(), blocks[side]->begin(), blocks[side]->end());
    return rvalue(values[side], common.type);
  }
  if (true_block.empty() && false_block.empty()) {
    return rvalue(build(at).conditional(condition, values[0], values[1]), common.type);
  }
  ir::Variable& result = local("choice", common.type, nullptr, at);
  for (int side = 0; side < 2; ++side) {
    blocks[side]->push_back(build(at).assign(build_.variable(result), values[side]));
  }
  emit(build(at).if_(condition, std::move(true_block), std::move(false_block)));
  settled_.insert(&result);
  return rvalue(build(at).variable(result), common.type);
}

// (c ? a : b) = x: by way of pointers.
Value Lowering::conditional_place(const ast::Expression& expression, Scope& scope) {
  const ir::Expression* condition =
      truth(this->expression(*expression.operands[0], scope), expression.at, "the condition of ?:");
  ir::Block blocks[2];
  Value sides[2];
  for (size_t side = 0; side < 2; ++side) {
    const Into into(*this, blocks[side]);
    const Value place = this->expression(*expression.operands[side + 1], scope);
    if (place.braces != nullptr || !place.is_place)
      throw Rejected{expression.at, "the sides of this ?: must be variables"};
    sides[side] = rvalue(address(place, expression.at));
  }
  const Value chosen =
      choose_value(condition, sides[0], sides[1], std::move(blocks[0]), std::move(blocks[1]), expression.at);
  return place_at(chosen.ir, chosen.type->is_const);
}

// ---- Folds ---------------------------------------------------------------------------------------------------------

Value Lowering::fold(const ast::Expression& expression, Scope& scope) {
  const std::string_view op = expression.op;
  const bool has_start = expression.operands.size() == 2;
  bool is_left = expression.fold_left;
  const ast::Expression* packed = expression.operands.back();
  const ast::Expression* start = has_start ? expression.operands[0] : nullptr;
  std::vector<Scope*> elements;
  try {
    elements = templates_.expansions(packed, nullptr, scope, expression.at);
  } catch (const Rejected&) {
    // The grammar does not always show which side is the pack.
    if (!has_start) throw;
    std::swap(packed, start);
    is_left = !is_left;
    elements = templates_.expansions(packed, nullptr, scope, expression.at);
  }
  const ast::Expression& pattern = *packed;
  if (op == ",") {
    Value last;
    last.type = table_.get(TypeKind::Void);
    if (has_start && is_left) discard(*start, scope);
    for (Scope* element : elements) last = this->expression(pattern, *element);
    if (has_start && !is_left) last = this->expression(*start, scope);
    return last;
  }
  if (op == "&&" || op == "||") {
    Value result = rvalue(build(expression.at).constant_bool(op == "&&"));
    if (has_start && is_left) result = this->expression(*start, scope);
    for (Scope* element : elements) {
      result = short_circuit(
          op, result, [&] { return this->expression(pattern, *element); }, expression.at);
    }
    if (has_start && !is_left) {
      result = short_circuit(
          op, result, [&] { return this->expression(*start, scope); }, expression.at);
    }
    return result;
  }
  std::vector<Value> values;
  const auto add = [&](const ast::Expression& operand, Scope& in) {
    const size_t since = mark();
    Value value = this->expression(operand, in);
    for (Value& earlier : values) protect(earlier, since);
    values.push_back(value);
  };
  if (has_start && is_left) add(*start, scope);
  for (Scope* element : elements) add(pattern, *element);
  if (has_start && !is_left) add(*start, scope);
  if (values.empty())
    throw Rejected{expression.at, "a fold over " + std::string(op) + " of an empty pack has no value"};
  if (is_left) {
    Value result = values.front();
    for (size_t i = 1; i < values.size(); ++i) result = binary_of(op, result, values[i], scope, expression.at);
    return result;
  }
  Value result = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) result = binary_of(op, values[i], result, scope, expression.at);
  return result;
}

}  // namespace kymo::shader
