// Operators and conversions.

#include "base/text.h"
#include "shader/emit/glsl_writer.h"
#include "shader/emit/walk.h"

namespace kymo::shader::glsl {
namespace {

using ir::ExpressionKind;
using ir::Operator;

struct Sign {
  std::string_view text;
  Level level;
  std::string_view of_vectors;  // a function, where vectors have no operator
};

Sign glsl_sign(Operator op) {
  switch (op) {
    case Operator::Add:
      return {"+", Level::Sum, {}};
    case Operator::Subtract:
      return {"-", Level::Sum, {}};
    case Operator::Multiply:
      return {"*", Level::Product, {}};
    case Operator::Divide:
      return {"/", Level::Product, {}};
    case Operator::Remainder:
      return {"%", Level::Product, {}};
    case Operator::ShiftLeft:
      return {"<<", Level::Shift, {}};
    case Operator::ShiftRight:
      return {">>", Level::Shift, {}};
    case Operator::And:
      return {"&", Level::And, {}};
    case Operator::Or:
      return {"|", Level::Or, {}};
    case Operator::Xor:
      return {"^", Level::Xor, {}};
    case Operator::Equal:
      return {"==", Level::Equality, "equal"};
    case Operator::NotEqual:
      return {"!=", Level::Equality, "notEqual"};
    case Operator::Less:
      return {"<", Level::Relation, "lessThan"};
    case Operator::LessEqual:
      return {"<=", Level::Relation, "lessThanEqual"};
    case Operator::Greater:
      return {">", Level::Relation, "greaterThan"};
    case Operator::GreaterEqual:
      return {">=", Level::Relation, "greaterThanEqual"};
    default:
      return {"", Level::Prefix, {}};
  }
}

bool glsl_has_call(const ir::Expression& expression) {
  bool found = false;
  walk_expression(&expression, [&](const ir::Expression& part) {
    found |= part.kind == ExpressionKind::Call || part.kind == ExpressionKind::Intrinsic;
  });
  return found;
}

bool glsl_is_small(TypeKind kind) { return kind >= TypeKind::Char && kind <= TypeKind::UShort; }

}  // namespace

Text Writer::unary(const ir::Expression& expression) {
  const Text inner = value(*expression.operands[0]);
  if (expression.op == Operator::Not && expression.type->is_vector()) return {base::format("not({})", inner.text)};
  const std::string_view sign = expression.op == Operator::Negate ? "-" : expression.op == Operator::Not ? "!" : "~";
  // Two signs in a row would be another one.
  const bool is_signed = inner.level == Level::Prefix && inner.text.starts_with(sign);
  return {base::format("{}{}", sign, is_signed ? "(" + inner.text + ")" : operand(inner, Level::Prefix)),
          Level::Prefix};
}

// Sums are long on the left side: it is visited without recursion.
Text Writer::binary_chain(const ir::Expression& expression) {
  std::vector<const ir::Expression*> chain;
  const ir::Expression* first = &expression;
  for (; first->kind == ExpressionKind::Binary && !first->operands[0]->type->is_pointer(); first = first->operands[0])
    chain.push_back(first);
  if (chain.empty()) return compare_pointers(expression);
  Text text = first->kind == ExpressionKind::Binary ? compare_pointers(*first) : value(*first);
  for (; !chain.empty(); chain.pop_back()) text = binary(*chain.back(), text, value(*chain.back()->operands[1]));
  return text;
}

Text Writer::binary(const ir::Expression& expression, const Text& left, const Text& right) {
  const Type* type = expression.operands[0]->type;
  const TypeKind kind = type->scalar()->kind;
  const Sign sign = glsl_sign(expression.op);
  if (type->is_vector() && !sign.of_vectors.empty())
    return {base::format("{}({}, {})", sign.of_vectors, left.text, right.text)};
  if (kind == TypeKind::Bool && expression.op >= Operator::And && expression.op <= Operator::Xor) {
    if (type->is_vector()) {
      const std::string bits = unit_.types.vector_name(TypeKind::UInt, type->count);
      return {
          base::format("{}({}({}) {} {}({}))", unit_.types.name(type), bits, left.text, sign.text, bits, right.text)};
    }
    if (expression.op == Operator::Xor) return glsl::binary(left, "^^", right, Level::LogicalXor);
    // Both sides are evaluated, whatever the first one is.
    if (glsl_has_call(*expression.operands[1]))
      return {base::format("bool(uint({}) {} uint({}))", left.text, sign.text, right.text)};
    const bool is_and = expression.op == Operator::And;
    return glsl::binary(left, is_and ? "&&" : "||", right, is_and ? Level::LogicalAnd : Level::LogicalOr);
  }
  if (expression.op == Operator::Remainder && type->scalar()->is_signed()) {
    const std::string& name = unit_.types.name(type);
    unit_.prelude.use("remainder", {name});
    return {base::format("kymo_remainder({}, {})", left.text, right.text)};
  }
  if (expression.op == Operator::ShiftLeft || expression.op == Operator::ShiftRight) {
    // By an int or uint: the amount may be of any type.
    const Type* amount = expression.operands[1]->type;
    const TypeKind by = amount->scalar()->kind;
    if (by != TypeKind::Int && by != TypeKind::UInt)
      return glsl::binary(
          left, sign.text,
          {base::format("{}({})", unit_.types.vector_name(TypeKind::Int, amount->components()), right.text)},
          sign.level);
  }
  return glsl::binary(left, sign.text, right, sign.level);
}

Text Writer::convert(const ir::Expression& expression) {
  const ir::Expression& from = *expression.operands[0];
  const TypeKind source = from.type->scalar()->kind, wanted = expression.type->scalar()->kind;
  const Text given = value(from);
  if (source == wanted) return given;
  if (wanted == TypeKind::Half || wanted == TypeKind::BFloat) {
    const std::string_view piece = wanted == TypeKind::Half ? "round_to_half" : "round_to_bfloat";
    unit_.prelude.use(piece);
    return componentwise(base::format("kymo_{}", piece), expression.type, {given}, {from.type});
  }
  if (from.type->scalar()->is_floating()) {
    if (wanted == TypeKind::Float) return given;
    // Drivers may lack the way straight to small integers.
    if (glsl_is_small(wanted))
      return {base::format("{}({}({}))", unit_.types.name(expression.type),
                           unit_.types.vector_name(TypeKind::Int, from.type->components()), given.text)};
  }
  if (source == TypeKind::Int && wanted == TypeKind::Long) {
    unit_.prelude.use("widened");
    return componentwise("kymo_widened", expression.type, {given}, {from.type});
  }
  return {base::format("{}({})", unit_.types.name(expression.type), given.text)};
}

}  // namespace kymo::shader::glsl
