// The numbers of #if: 64 bits, unsigned if an operand is unsigned. Overflow wraps.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::shader {

struct ConditionValue {
  uint64_t bits = 0;
  bool is_unsigned = false;

  bool is_true() const { return bits != 0; }
  bool is_negative() const { return !is_unsigned && static_cast<int64_t>(bits) < 0; }
  uint64_t magnitude() const { return is_negative() ? 0 - bits : bits; }
};

struct ConditionOperator {
  std::string_view text;
  int strength;  // its precedence: 0 is the lowest
};
const ConditionOperator* find_condition_operator(std::string_view text);  // a binary operator; null: not an operator

// For a division, the caller has checked that `b` is not 0.
ConditionValue combine_conditions(const ConditionValue& a, std::string_view op, const ConditionValue& b);

}  // namespace kymo::shader
