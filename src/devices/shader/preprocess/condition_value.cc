#include "shader/preprocess/condition_value.h"

namespace kymo::shader {

namespace {

constexpr ConditionOperator kConditionOperators[] = {{"||", 0}, {"&&", 1}, {"|", 2},  {"^", 3}, {"&", 4},  {"==", 5},
                                                     {"!=", 5}, {"<", 6},  {"<=", 6}, {">", 6}, {">=", 6}, {"<<", 7},
                                                     {">>", 7}, {"+", 8},  {"-", 8},  {"*", 9}, {"/", 9},  {"%", 9}};

bool is_condition_less(const ConditionValue& a, const ConditionValue& b) {
  if (a.is_unsigned || b.is_unsigned) return a.bits < b.bits;
  return static_cast<int64_t>(a.bits) < static_cast<int64_t>(b.bits);
}

ConditionValue shift_condition(const ConditionValue& value, const ConditionValue& by, bool to_left) {
  constexpr uint64_t kWidth = 64;
  const uint64_t filling = !to_left && value.is_negative() ? ~uint64_t{0} : 0;
  if (by.is_negative() || by.bits >= kWidth) return {filling, value.is_unsigned};
  if (to_left) return {value.bits << by.bits, value.is_unsigned};
  const uint64_t filled = by.bits == 0 ? 0 : filling << (kWidth - by.bits);
  return {(value.bits >> by.bits) | filled, value.is_unsigned};
}

// Towards zero; the remainder has the sign of the left.
ConditionValue divide_condition(const ConditionValue& left, const ConditionValue& right, bool wants_remainder) {
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const ConditionValue a{left.bits, is_unsigned}, b{right.bits, is_unsigned};
  const uint64_t result = wants_remainder ? a.magnitude() % b.magnitude() : a.magnitude() / b.magnitude();
  const bool negate = wants_remainder ? a.is_negative() : a.is_negative() != b.is_negative();
  return {negate ? 0 - result : result, is_unsigned};
}

}  // namespace

const ConditionOperator* find_condition_operator(std::string_view text) {
  for (const ConditionOperator& one : kConditionOperators) {
    if (one.text == text) return &one;
  }
  return nullptr;
}

ConditionValue combine_conditions(const ConditionValue& a, std::string_view op, const ConditionValue& b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const auto truth = [](bool value) { return ConditionValue{value ? 1u : 0u, false}; };
  if (op == "||") return truth(a.is_true() || b.is_true());
  if (op == "&&") return truth(a.is_true() && b.is_true());
  if (op == "|") return {a.bits | b.bits, is_unsigned};
  if (op == "^") return {a.bits ^ b.bits, is_unsigned};
  if (op == "&") return {a.bits & b.bits, is_unsigned};
  if (op == "==") return truth(a.bits == b.bits);
  if (op == "!=") return truth(a.bits != b.bits);
  if (op == "<") return truth(is_condition_less(a, b));
  if (op == "<=") return truth(!is_condition_less(b, a));
  if (op == ">") return truth(is_condition_less(b, a));
  if (op == ">=") return truth(!is_condition_less(a, b));
  if (op == "<<" || op == ">>") return shift_condition(a, b, op == "<<");
  if (op == "+") return {a.bits + b.bits, is_unsigned};
  if (op == "-") return {a.bits - b.bits, is_unsigned};
  if (op == "*") return {a.bits * b.bits, is_unsigned};
  return divide_condition(a, b, op == "%");
}

}  // namespace kymo::shader
