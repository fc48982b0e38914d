// Operators of numbers and pointers. Scalars follow the usual conversions of C++. A scalar next to a vector becomes a
// vector. half and bfloat are computed in float and rounded after every operation.

#include "shader/ir/evaluate.h"
#include "shader/ir/scalar.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

std::optional<ir::Operator> arithmetic_operator(std::string_view op) {
  using ir::Operator;
  static constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"+", Operator::Add},           {"-", Operator::Subtract},   {"*", Operator::Multiply},
      {"/", Operator::Divide},        {"%", Operator::Remainder},  {"<<", Operator::ShiftLeft},
      {">>", Operator::ShiftRight},   {"&", Operator::And},        {"|", Operator::Or},
      {"^", Operator::Xor},           {"==", Operator::Equal},     {"!=", Operator::NotEqual},
      {"<", Operator::Less},          {"<=", Operator::LessEqual}, {">", Operator::Greater},
      {">=", Operator::GreaterEqual},
  };
  for (const auto& [name, known] : kOperators) {
    if (name == op) return known;
  }
  return std::nullopt;
}

std::string arithmetic_operands(const Value& left, const Value& right) {
  return "(" + TypeTable::name(left.type) + ", " + TypeTable::name(right.type) + ")";
}

}  // namespace

const ir::Expression* Lowering::folded(const ir::Expression* expression) { return ir::fold_node(module_, *expression); }

const ir::Expression* Lowering::as_number(const Value& value, const Type* to, Location at) {
  const Value loaded = load(value);
  if (!loaded.type->is_number())
    throw Rejected{at, "cannot convert " + in_quotes(loaded.type) + " to " + in_quotes(to)};
  if (to->is_vector() && loaded.type->is_scalar()) {
    return build(at).splat(convert_number(loaded.ir, to->inner, at), to->count);
  }
  return convert_number(loaded.ir, to, at);
}

const ir::Expression* Lowering::truth(const Value& value, Location at, std::string_view what) {
  if (value.type == table_.get(TypeKind::Bool)) return read(value);
  if (value.type != nullptr && value.type->is_vector()) {
    throw Rejected{at,
                   std::string(what) + " must be one bool, and is " + in_quotes(value.type) + ": use any() or all()"};
  }
  QualifiedType wanted;
  wanted.type = table_.get(TypeKind::Bool);
  const Value number = value.braces != nullptr ? value : decayed(value);
  return convert(number, wanted, at, what);
}

Value Lowering::number_of(const Value& value, Location at) {
  if (value.braces != nullptr) throw Rejected{value.braces->at, "{...} has no type here: write the type before it"};
  if (value.type->is_enum() && !value.type->is_scoped)
    return rvalue(convert_number(read(value), value.type->underlying, at));
  if (!value.type->is_struct()) return value;
  Class* owner = types_.class_of(value.type);
  if (owner == nullptr) return value;
  // The conversion to a number or pointer that an operator would call.
  OverloadSet set;
  set.name = "operator";
  set.at = at;
  for (const Symbol* symbol : lookup_.find_in("operator", *owner->scope)) {
    if (symbol->kind != Symbol::Kind::Function || symbol->declaration->is_template || symbol->declaration->is_explicit)
      continue;
    if (!set.object) set.object = object_place(value, at);
    set.candidates = {symbol};
    const std::optional<Chosen> chosen = overloads_.try_choose(set, {});
    if (!chosen) continue;
    const Type* result = chosen->instance->result;
    if (result == nullptr || !(result->is_number() || result->is_pointer())) continue;
    return call(*chosen, set.object, {}, at);
  }
  return value;
}

Value Lowering::promoted(const Value& value, Location at) {
  return value.promoted == nullptr ? value : rvalue(convert_number(read(value), value.promoted, at));
}

Value Lowering::negated(std::string_view op, const Value& operand, Location at) {
  const Value value = load(promoted(number_of(operand, at), at));
  const auto refuse = [&]() {
    return Rejected{at, "the operator " + std::string(op) + " does not take " + in_quotes(value.type)};
  };
  if (!value.type->is_number() || (value.type->is_vector() && value.type->inner->is(TypeKind::Bool)) ||
      value.type->is_enum())
    throw refuse();
  if (op == "~" && value.type->scalar()->is_floating()) throw refuse();
  const Type* type = value.type->is_scalar() && value.type->size < 4 && !value.type->is_floating()
                         ? table_.get(TypeKind::Int)
                         : value.type;
  const ir::Expression* number = convert_number(value.ir, type, at);
  if (op == "+") return rvalue(number);
  const ir::Operator which = op == "-" ? ir::Operator::Negate : ir::Operator::Complement;
  if (!is_small_float(type)) return rvalue(folded(build(at).unary(which, number)));
  const Type* wide = table_.with_scalar(type, table_.get(TypeKind::Float));
  const ir::Expression* made = folded(build(at).unary(which, convert_number(number, wide, at)));
  return rvalue(convert_number(made, type, at));
}

Value Lowering::binary(std::string_view op, Value left, Value right, Location at) {
  left = decayed(number_of(left, at));
  right = decayed(number_of(right, at));
  if (is_void(left) || is_void(right)) throw Rejected{at, "an operand of " + std::string(op) + " is void"};
  if (left.type->is_pointer() || right.type->is_pointer()) return pointer_operation(op, left, right, at);
  left = load(promoted(left, at));
  right = load(promoted(right, at));
  if (!left.type->is_number() || !right.type->is_number()) {
    throw Rejected{at, "no operator" + std::string(op) + " takes " + arithmetic_operands(left, right)};
  }
  if (left.type->is_enum() || right.type->is_enum()) {  // enum class: the language only compares its values
    const std::optional<ir::Operator> which = arithmetic_operator(op);
    if (left.type != right.type || !which || !ir::is_comparison(*which))
      throw Rejected{at, "no operator" + std::string(op) + " takes " + arithmetic_operands(left, right) +
                             ": convert an enum class to a number, or define the operator"};
  }
  return op == "<<" || op == ">>" ? shift(op, left, right, at) : arithmetic(op, left, right, at);
}

Value Lowering::arithmetic(std::string_view op, const Value& left, const Value& right, Location at) {
  const std::optional<ir::Operator> which = arithmetic_operator(op);
  if (!which) throw Rejected{at, "the operator " + std::string(op) + " is not supported"};
  const Type* bool_type = table_.get(TypeKind::Bool);
  const bool is_bitwise = op == "&" || op == "|" || op == "^";
  const bool is_comparison = ir::is_comparison(*which);
  // Bools stay bools in & | ^. C++ converts them to int and the result back to bool.
  const bool is_logic = left.type->scalar() == bool_type && right.type->scalar() == bool_type &&
                        (is_bitwise || op == "==" || op == "!=") &&
                        (left.type == right.type || left.type->is_scalar() || right.type->is_scalar());
  const Type* type =
      is_logic ? (left.type->is_vector() ? left.type : right.type) : types_.common_type(left.type, right.type, at);
  const bool is_bool_vector = type->is_vector() && type->inner == bool_type;
  if ((type->scalar()->is_floating() && (is_bitwise || op == "%")) || (is_bool_vector && !is_logic)) {
    throw Rejected{at, "no operator" + std::string(op) + " takes " + arithmetic_operands(left, right) +
                           (op == "%" ? ": use fmod()" : "")};
  }
  const Type* wide = is_small_float(type) ? table_.with_scalar(type, table_.get(TypeKind::Float)) : type;
  const ir::Expression* a = as_number(left, type, at);
  const ir::Expression* b = as_number(right, type, at);
  a = convert_number(a, wide, at);
  b = convert_number(b, wide, at);
  const ir::Expression* made = folded(build(at).binary(*which, a, b));
  if (is_comparison) return rvalue(made);
  return rvalue(convert_number(made, type, at), type);
}

Value Lowering::shift(std::string_view op, const Value& left, const Value& right, Location at) {
  if (left.type->scalar()->is_floating() || right.type->scalar()->is_floating() ||
      (left.type->is_vector() && left.type->inner->is(TypeKind::Bool)) ||
      (right.type->is_vector() && right.type->inner->is(TypeKind::Bool)) ||
      (left.type->is_vector() && right.type->is_vector() && left.type->count != right.type->count)) {
    throw Rejected{at, "no operator" + std::string(op) + " takes " + arithmetic_operands(left, right)};
  }
  const auto widened = [&](const Type* type) {
    return type->is_scalar() && type->size < 4 ? table_.get(TypeKind::Int) : type;
  };
  const Type* type = widened(left.type);
  if (right.type->is_vector() && !type->is_vector()) type = table_.with_scalar(right.type, type);
  const ir::Expression* value = as_number(left, type, at);
  const ir::Expression* amount = as_number(right, widened(right.type), at);
  // Metal takes the amount modulo the width.
  const uint64_t most = type->scalar()->size * 8 - 1;
  if (amount->kind == ir::ExpressionKind::Constant) {
    amount = build(at).constant(amount->type, amount->bits & most);
  } else {
    const ir::Expression* mask = build(at).constant_uint(most, amount->type->scalar()->kind);
    if (amount->type->is_vector()) mask = build(at).splat(mask, amount->type->count);
    amount = build(at).binary(ir::Operator::And, amount, mask);
  }
  if (type->is_vector() && !amount->type->is_vector()) amount = build(at).splat(amount, type->count);
  const ir::Operator which = op == "<<" ? ir::Operator::ShiftLeft : ir::Operator::ShiftRight;
  return rvalue(folded(build(at).binary(which, value, amount)));
}

Value Lowering::pointer_operation(std::string_view op, const Value& given_left, const Value& given_right, Location at) {
  Value left = load(given_left), right = load(given_right);
  const auto refuse = [&]() {
    return Rejected{at, "no operator" + std::string(op) + " takes " + arithmetic_operands(given_left, given_right)};
  };
  if (op == "+" && right.type->is_pointer()) std::swap(left, right);
  if ((op == "+" || op == "-") && left.type->is_pointer() &&
      (right.type->is_integer() || right.type->is(TypeKind::Bool))) {
    const ir::Expression* offset = right.ir;
    if (offset->type->size < 4) offset = convert_number(offset, table_.get(TypeKind::Int), at);
    if (op == "-") {
      // An unsigned offset is converted to a signed type before it is negated.
      if (offset->type->is(TypeKind::UInt)) offset = convert_number(offset, table_.get(TypeKind::Long), at);
      offset = folded(build(at).unary(ir::Operator::Negate, offset));
    }
    return rvalue(build(at).pointer_add(left.ir, offset), left.type);
  }
  const std::optional<ir::Operator> which = arithmetic_operator(op);
  if (!which) throw refuse();
  const bool is_comparison = ir::is_comparison(*which);
  if (left.is_null && right.type->is_pointer()) left = rvalue(build(at).null(right.type));
  if (right.is_null && left.type->is_pointer()) right = rvalue(build(at).null(left.type));
  if (is_comparison && left.is_literal_zero && right.type->is_pointer()) left = rvalue(build(at).null(right.type));
  if (is_comparison && right.is_literal_zero && left.type->is_pointer()) right = rvalue(build(at).null(left.type));
  if (!left.type->is_pointer() || !right.type->is_pointer()) throw refuse();
  if (left.type->space != right.type->space && left.ir->kind != ir::ExpressionKind::Null) throw refuse();
  // Whether they are const makes no difference.
  const ir::Expression* b = build(at).pointer_cast(left.type, right.ir);
  if (op == "-") {
    if (left.type->inner != right.type->inner) throw refuse();
    return rvalue(build(at).pointer_difference(left.ir, b));
  }
  if (!is_comparison) throw refuse();
  ir::Expression& made = module_.make_expression(ir::ExpressionKind::Binary, table_.get(TypeKind::Bool), at);
  made.op = *which;
  made.operands = {left.ir, b};
  return rvalue(&made);
}

}  // namespace kymo::shader
