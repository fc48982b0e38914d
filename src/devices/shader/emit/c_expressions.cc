
#include "base/text.h"
#include "shader/emit/c_function.h"
#include "shader/emit/c_literals.h"
#include "shader/emit/walk.h"

namespace kymo::shader {
namespace {

using ir::ExpressionKind;
using ir::Operator;

constexpr uint32_t kMaxNesting = 300;

bool c_has_effects(const ir::Expression& expression) {
  bool has = false;
  walk_expression(&expression, [&](const ir::Expression& one) {
    has |= one.kind == ExpressionKind::Call ||
           (one.kind == ExpressionKind::Intrinsic && one.intrinsic >= ir::Intrinsic::AtomicLoad &&
            one.intrinsic <= ir::Intrinsic::GroupAny);
  });
  return has;
}

}  // namespace

CText CFunction::value(const ir::Expression& expression) {
  if (++depth_ > kMaxNesting)
    throw Rejected{
        expression.at,
        base::format("an expression is nested more than {} deep; keep parts of it in variables", kMaxNesting)};
  CText text = value_of(expression);
  --depth_;
  return text;
}

CText CFunction::value_of(const ir::Expression& expression) {
  const auto operand = [&](size_t i) { return value(*expression.operands[i]); };
  switch (expression.kind) {
    case ExpressionKind::Constant:
      return c_constant(dialect_, expression.type, expression.bits);
    case ExpressionKind::Null:
      return c_cast(types_.value(expression.type), {"0"});
    case ExpressionKind::Variable:
    case ExpressionKind::Dereference:
    case ExpressionKind::Member:
    case ExpressionKind::Index:
    case ExpressionKind::Swizzle:
      return read(expression);
    case ExpressionKind::AddressOf:
      return address_of(expression);
    case ExpressionKind::Decay:
      return decay(expression);
    case ExpressionKind::PointerAdd:
      return c_joined("+", Binding::Sum, operand(0), offset(*expression.operands[1]));
    case ExpressionKind::PointerCast:
      return pointer_cast(expression);
    case ExpressionKind::PointerDifference:
      return c_cast(dialect_.scalar(TypeKind::Long), c_joined("-", Binding::Sum, operand(0), operand(1)));
    case ExpressionKind::Unary:
      return unary(expression);
    case ExpressionKind::Binary:
      return binary(expression);
    case ExpressionKind::LogicalAnd:
      return c_joined("&&", Binding::LogicalAnd, operand(0), operand(1));
    case ExpressionKind::LogicalOr:
      return c_joined("||", Binding::LogicalOr, operand(0), operand(1));
    case ExpressionKind::Conditional:
      return {base::format("{} ? {} : {}", operand(0).in(Binding::LogicalOr), operand(1).in(Binding::LogicalOr),
                           operand(2).in(Binding::Conditional)),
              Binding::Conditional};
    case ExpressionKind::Convert:
      return convert(expression);
    case ExpressionKind::Splat:
      return dialect_.splat(expression.type, operand(0));
    case ExpressionKind::Construct:
      return construct(expression);
    case ExpressionKind::Zero:
      return zero(expression.type);
    case ExpressionKind::Bitcast:
      return bitcast(expression);
    case ExpressionKind::Call:
      return call(expression);
    case ExpressionKind::Intrinsic:
      return intrinsic(expression);
  }
  return {};
}

// ---- Operators -----------------------------------------------------------------------------------------------------

// Long sums are deep to the left: no recursion there.
CText CFunction::binary(const ir::Expression& expression) {
  std::vector<const ir::Expression*> chain{&expression};
  while (chain.back()->operands[0]->kind == ExpressionKind::Binary) chain.push_back(chain.back()->operands[0]);
  CText text = value(*chain.back()->operands[0]);
  for (; !chain.empty(); chain.pop_back())
    text = one_binary(*chain.back(), std::move(text), value(*chain.back()->operands[1]));
  return text;
}

CText CFunction::one_binary(const ir::Expression& expression, CText left, CText right) {
  const Type* type = expression.operands[0]->type;
  if (type->is_vector())
    return dialect_.binary(expression.op, type, expression.operands[1]->type, std::move(left), std::move(right));
  if (type->is(TypeKind::Bool)) {  // of which C makes an int
    if (expression.op == Operator::Xor) return c_binary(Operator::NotEqual, std::move(left), std::move(right));
    if (expression.op == Operator::And || expression.op == Operator::Or)
      return c_cast(dialect_.scalar(TypeKind::Bool), c_binary(expression.op, std::move(left), std::move(right)));
  }
  return c_binary(expression.op, std::move(left), std::move(right));
}

CText CFunction::unary(const ir::Expression& expression) {
  const ir::Expression& operand = *expression.operands[0];
  if (operand.type->is_vector()) return dialect_.unary(expression.op, operand.type, value(operand));
  return c_prefix(operator_sign(expression.op), value(operand));
}

// ---- Conversions ---------------------------------------------------------------------------------------------------

CText CFunction::convert(const ir::Expression& expression) {
  const ir::Expression& operand = *expression.operands[0];
  return convert(operand.type, expression.type, value(operand));
}

CText CFunction::convert(const Type* from, const Type* to, CText text) {
  const bool from_packed = from->is_vector() && from->packed, to_packed = to->is_vector() && to->packed;
  if (from_packed && to_packed && from->inner == to->inner) return text;
  if (from_packed) text = types_.unpack(from, std::move(text));
  const Type* from_scalar = from->scalar();
  const Type* to_scalar = to->scalar();
  const uint32_t count = to->components();
  if (from_scalar != to_scalar) {
    const bool is_half = to_scalar->is(TypeKind::Half), is_bfloat = to_scalar->is(TypeKind::BFloat);
    if (is_half || is_bfloat) {
      text = dialect_.convert16(is_half ? "kymo_round_to_half" : "kymo_round_to_bfloat", false, count, std::move(text));
    } else if (to->is_vector()) {
      if (held_as(from_scalar) != held_as(to_scalar)) text = dialect_.convert(from, to, std::move(text));
    } else if (to->is(TypeKind::Bool)) {
      text = c_binary(Operator::NotEqual, std::move(text), {from_scalar->is_floating() ? "0.0f" : "0"});
    } else if (held_as(from_scalar) != held_as(to_scalar)) {
      text = c_cast(dialect_.scalar(held_as(to_scalar)), std::move(text));
    }
  }
  return to_packed ? types_.pack(to, std::move(text)) : text;
}

// The bytes are those of memory.
CText CFunction::bitcast(const ir::Expression& expression) {
  const ir::Expression& operand = *expression.operands[0];
  CText bytes = types_.store(operand.type, value(operand));
  if (operand.type->is(TypeKind::Bool)) bytes = c_cast(dialect_.scalar(TypeKind::UChar), std::move(bytes));
  const std::string from = types_.spelled(Form::Memory, operand.type);
  const std::string to = types_.spelled(Form::Memory, expression.type);
  if (from != to) bytes = dialect_.bitcast(to, std::move(bytes));
  return types_.load(expression.type, std::move(bytes));
}

CText CFunction::pointer_cast(const ir::Expression& expression) {
  const ir::Expression& operand = *expression.operands[0];
  const Type* to = expression.type;
  const Type* from = operand.type;
  CText text = value(operand);
  const std::string wanted = types_.value(to);
  if (from->is_pointer() && to->is_pointer() && types_.value(from) == wanted) return text;
  return c_cast(wanted, std::move(text));
}

// ---- Parts ---------------------------------------------------------------------------------------------------------

CText CFunction::construct(const ir::Expression& expression) {
  const Type* type = expression.type;
  std::vector<CText> parts;
  bool has_vectors = false;
  for (const ir::Expression* part : expression.operands) {
    parts.push_back(value(*part));
    has_vectors |= part->type->is_vector();
  }
  if (type->is_vector())
    return dialect_.construct(types_.value(type), dialect_.scalar(held_as(type->inner)), has_vectors, parts);
  if (parts.empty()) return zero(type);
  const std::string list = c_list(parts);
  return {dialect_.aggregate(types_.value(type), type->is_array() ? "{" + list + "}" : list)};
}

CText CFunction::zero(const Type* type) {
  if (type->is_scalar()) return c_constant(dialect_, type, 0);
  if (type->is_pointer()) return c_cast(types_.value(type), {"0"});
  if (type->is_vector() && !type->packed) return dialect_.splat(type, c_constant(dialect_, type->inner, 0));
  return {dialect_.aggregate(types_.value(type), dialect_.zeros())};
}

CText CFunction::call(const ir::Expression& expression) {
  const CNeeds needs = module_.needs[expression.function];
  std::vector<CText> arguments;
  if (needs.simd) arguments.push_back({std::string(hidden_.simd)});
  if (needs.grid) arguments.push_back({std::string(hidden_.grid)});
  for (const ir::Expression* operand : expression.operands) arguments.push_back(value(*operand));
  return c_call_with(module_.functions.at(expression.function), arguments);
}

CText CFunction::intrinsic(const ir::Expression& expression) {
  std::vector<CText> operands;
  for (const ir::Expression* operand : expression.operands) operands.push_back(value(*operand));
  // One of two numbers: written as a ? b : c if evaluating only one makes no difference.
  const bool is_choice = expression.intrinsic == ir::Intrinsic::Select && !expression.operands[2]->type->is_vector();
  if (is_choice && !c_has_effects(*expression.operands[0]) && !c_has_effects(*expression.operands[1]))
    return {
        base::format("{} ? {} : {}", std::move(operands[2]).in(Binding::LogicalOr),
                     std::move(operands[1]).in(Binding::LogicalOr), std::move(operands[0]).in(Binding::Conditional)),
        Binding::Conditional};
  return dialect_.intrinsic(expression, operands, hidden_);
}

}  // namespace kymo::shader
