// A piece of a C expression, with the precedence of its outermost operator, so that brackets are written only if
// needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kymo::shader {

// Weakest first, as in C.
enum class Binding : uint8_t {
  Conditional,
  LogicalOr,
  LogicalAnd,
  Or,
  Xor,
  And,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Prefix,   // -x, (type)x, *x
  Postfix,  // x.y, f(x), names and numbers
};

struct CText {
  std::string text;
  Binding binding = Binding::Postfix;

  // As an operand of an operator with this precedence.
  std::string in(Binding wanted) && { return binding >= wanted ? std::move(text) : "(" + text + ")"; }
};

inline CText c_prefix(std::string_view sign, CText operand) {
  // Avoids "--x" and "& &x".
  if (!operand.text.empty() && operand.text.front() == sign.back()) operand.binding = Binding::Conditional;
  std::string text(sign);
  text += std::move(operand).in(Binding::Prefix);
  return {std::move(text), Binding::Prefix};
}

inline CText c_cast(std::string_view type, CText operand) {
  std::string text = "(";
  ((text += type) += ')') += std::move(operand).in(Binding::Prefix);
  return {std::move(text), Binding::Prefix};
}

inline CText c_member(CText object, std::string_view name) {
  std::string text = std::move(object).in(Binding::Postfix);
  (text += '.') += name;
  return {std::move(text)};
}

// a, b, c
inline std::string c_list(std::span<const CText> texts) {
  std::string list;
  for (const CText& text : texts) (list += list.empty() ? "" : ", ") += text.text;
  return list;
}

inline CText c_call_with(std::string_view function, std::span<const CText> operands) {
  std::string text(function);
  ((text += '(') += c_list(operands)) += ')';
  return {std::move(text)};
}

template <class... Operands>
CText c_call(std::string_view function, Operands... operands) {
  const CText all[] = {std::move(operands)...};
  return c_call_with(function, all);
}

}  // namespace kymo::shader
