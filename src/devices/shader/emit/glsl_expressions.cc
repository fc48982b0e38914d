// Values.

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_writer.h"

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
  if (type->is_struct() && type->is_union) {
    // Of its first member.
    const Type* first = expression.operands.empty() ? nullptr : expression.operands[0]->type;
    if (first == nullptr) return memory_.zero(type);
    const std::string& function = unit_.helper(
        base::format("union {} {}", type->id, first->id), base::format("make_{}", name_part(type)),
        [&](const std::string& name) {
          return base::format("{} {}({} value) {{\n  {} made = {};\n{}  return made;\n}}\n", unit_.types.name(type),
                              name, unit_.types.name(first), unit_.types.name(type), memory_.zero(type).text,
                              memory_.put(first, {"made.words", 0, {}}, {"value"}, "  "));
        });
    return {base::format("{}({})", function, value(*expression.operands[0]).text)};
  }
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

}  // namespace kymo::shader::glsl
