// Values: expressions, operators and conversions.

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_writer.h"
#include "shader/ir/uses.h"

namespace kymo::shader::glsl {

using ir::ExpressionKind;

Text Writer::value(const ir::Expression& expression) {
  if (is_static_pointer(expression.type)) return as_value(expression);
  switch (expression.kind) {
    case ExpressionKind::Constant:
      return literal(expression.type->kind, expression.bits);
    case ExpressionKind::Null:
      return {"0ul"};
    case ExpressionKind::Zero:
      return memory_.zero(expression.type);
    case ExpressionKind::Variable:
    case ExpressionKind::Dereference:
    case ExpressionKind::Member:
    case ExpressionKind::Index:
    case ExpressionKind::Swizzle:
      return read(place(expression));
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay:
    case ExpressionKind::PointerAdd:
    case ExpressionKind::PointerCast:
      return address(expression);
    case ExpressionKind::PointerDifference:
      return pointer_difference(expression);
    case ExpressionKind::Unary:
      return unary(expression);
    case ExpressionKind::Binary:
      return binary_chain(expression);
    case ExpressionKind::LogicalAnd:
      return glsl::binary(value(*expression.operands[0]), "&&", guarded(*expression.operands[1]), Level::LogicalAnd);
    case ExpressionKind::LogicalOr:
      return glsl::binary(value(*expression.operands[0]), "||", guarded(*expression.operands[1]), Level::LogicalOr);
    case ExpressionKind::Conditional:
      return conditional(expression);
    case ExpressionKind::Convert:
      return convert(expression);
    case ExpressionKind::Splat:
      return {base::format("{}({})", unit_.types.name(expression.type), value(*expression.operands[0]).text)};
    case ExpressionKind::Construct:
      return construct(expression);
    case ExpressionKind::Bitcast:
      return memory_.bitcast(expression.type, expression.operands[0]->type, value(*expression.operands[0]));
    case ExpressionKind::Call:
      return call(expression);
    case ExpressionKind::Intrinsic:
      return intrinsic(expression);
  }
  return {};
}

std::string Writer::temporary(std::string_view type, const Text& text, std::string_view wanted) {
  std::string name = unit_.names.take(wanted);
  line(base::format("{} {} = {};", type, name, text.text));
  return name;
}

Text Writer::guarded(const ir::Expression& expression) {
  ++guards_;
  Text text = value(expression);
  --guards_;
  return text;
}

Text Writer::conditional(const ir::Expression& expression) {
  const Text chosen = value(*expression.operands[0]);
  const Text yes = guarded(*expression.operands[1]), no = guarded(*expression.operands[2]);
  return {base::format("{} ? {} : {}", operand(chosen, Level::LogicalOr), operand(yes, Level::LogicalOr),
                       operand(no, Level::Conditional)),
          Level::Conditional};
}

Text Writer::construct(const ir::Expression& expression) {
  const Type* type = expression.type;
  std::string parts;
  for (const ir::Expression* part : expression.operands) (parts += parts.empty() ? "" : ", ") += value(*part).text;
  // Omitted values at the end are 0.
  if (type->is_struct()) {
    for (size_t i = expression.operands.size(); i < type->fields.size(); ++i)
      (parts += parts.empty() ? "" : ", ") += memory_.zero(type->fields[i].type).text;
    if (type->fields.empty()) parts = "0";
  } else if (type->is_array()) {
    for (size_t i = expression.operands.size(); i < std::max(1U, type->count); ++i)
      (parts += parts.empty() ? "" : ", ") += memory_.zero(type->inner).text;
  }
  return {base::format("{}({})", unit_.types.name(type), parts)};
}

Text Writer::call(const ir::Expression& expression) {
  const Instance& callee = *instance_.calls.at(&expression);
  std::string arguments;
  size_t next = 0;
  for (const ir::Expression* argument : expression.operands) {
    std::string text;
    if (is_static_pointer(argument->type)) {
      const Shape& shape = callee.arguments[next++];
      if (shape.ints() == 0) continue;
      text = whole(fit(pointer(*argument), shape)).text;
    } else {
      next += unit_.types.static_pointers(argument->type);
      text = value(*argument).text;
    }
    (arguments += arguments.empty() ? "" : ", ") += text;
  }
  return {base::format("{}({})", callee.name, arguments)};
}

Text Writer::componentwise(std::string_view function, const Type* result, const std::vector<Text>& arguments,
                           const std::vector<const Type*>& types) {
  const uint32_t count = result->components();
  std::string given;
  for (const Text& argument : arguments) (given += given.empty() ? "" : ", ") += argument.text;
  if (count > 1) {
    constexpr std::string_view kNames[] = {"a", "b", "c"};
    std::string key = base::format("each {}", function), parameters, parts;
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string& name = unit_.types.name(types[i]);
      key += ' ' + name;
      parameters += base::format("{}{} {}", i == 0 ? "" : ", ", name, kNames[i]);
    }
    if (unit_.is_new(key)) {
      for (uint32_t component = 0; component < count; ++component) {
        parts += base::format("{}{}(", component == 0 ? "" : ", ", function);
        for (size_t i = 0; i < types.size(); ++i)
          parts += base::format("{}{}.{}", i == 0 ? "" : ", ", kNames[i], kComponents[component]);
        parts += ")";
      }
      const std::string& name = unit_.types.name(result);
      unit_.add_function(base::format("{} {}({}) {{\n  return {}({});\n}}\n", name, function, parameters, name, parts),
                         nullptr);
    }
  }
  return {base::format("{}({})", function, given)};
}

// ---- Operators and conversions --------------------------------------------------------------------------------------

using ir::Operator;

namespace {

bool glsl_is_small(TypeKind kind) { return kind >= TypeKind::Char && kind <= TypeKind::UShort; }

}  // namespace

Text Writer::unary(const ir::Expression& expression) {
  const Text inner = value(*expression.operands[0]);
  if (expression.op == Operator::Not && expression.type->is_vector()) return {base::format("not({})", inner.text)};
  const std::string_view sign = operator_sign(expression.op);
  // Two signs in a row would be another one.
  const bool is_signed = inner.binding == Level::Prefix && inner.text.starts_with(sign);
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
  const Text sign{std::string(operator_sign(expression.op)), operator_binding(expression.op)};
  if (type->is_vector() && expression.op >= Operator::Equal && expression.op <= Operator::GreaterEqual) {
    constexpr std::string_view kFunctions[] = {"equal",         "notEqual",    "lessThan",
                                               "lessThanEqual", "greaterThan", "greaterThanEqual"};
    const size_t which = static_cast<size_t>(expression.op) - static_cast<size_t>(Operator::Equal);
    return {base::format("{}({}, {})", kFunctions[which], left.text, right.text)};
  }
  if (kind == TypeKind::Bool && expression.op >= Operator::And && expression.op <= Operator::Xor) {
    if (type->is_vector()) {
      const std::string bits = unit_.types.vector_name(TypeKind::UInt, type->count);
      return {
          base::format("{}({}({}) {} {}({}))", unit_.types.name(type), bits, left.text, sign.text, bits, right.text)};
    }
    if (expression.op == Operator::Xor) return glsl::binary(left, "^^", right, Level::LogicalXor);
    // Both sides are evaluated, whatever the first one is.
    if (ir::has_call(*expression.operands[1]))
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
          sign.binding);
  }
  return glsl::binary(left, sign.text, right, sign.binding);
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
