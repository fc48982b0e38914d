// Numbers of #if: one width, 64 bits, and unsigned where an operand is. What overflows wraps.
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
  int strength;  // how tightly it binds: 0 the weakest
};
const ConditionOperator* find_condition_operator(std::string_view text);  // of two operands; null: it is none

// Who divides has looked that `b` is not 0.
ConditionValue combine_conditions(const ConditionValue& a, std::string_view op, const ConditionValue& b);

}  // namespace kymo::shader
