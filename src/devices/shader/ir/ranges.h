// What is known of numbers at a place of a function: the ranges of its variables there, from constants and from the
// conditions around it. Everything that is not understood has the range of its type.
#pragma once

#include <unordered_map>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// The numbers from `low` to `high`, and NaN if `nan`. No numbers: low is above high.
struct Range {
  double low = 0, high = 0;
  bool nan = false;

  bool is_empty() const { return low > high && !nan; }
  bool operator==(const Range&) const = default;
};

Range range_of_type(const Type* type);  // of another type than a scalar: one that says nothing
Range join(const Range& a, const Range& b);

class Ranges {
 public:
  // Of an expression without effects, or of the result of a call.
  Range of(const Expression& expression) const;
  // `range` is that of the value that the variable gets.
  void set(const Variable& variable, const Range& range);
  void forget(const Variable& variable) { known_.erase(&variable); }
  // After the condition had this value. False: it cannot have it.
  bool refine(const Expression& condition, bool value) { return refine(condition, value, 0); }
  // What holds after either.
  void join_with(const Ranges& other);

 private:
  bool refine(const Expression& condition, bool value, uint32_t depth);
  Range of_variable(const Variable& variable) const;
  Range of_binary(const Expression& e) const;
  Range of_intrinsic(const Expression& e) const;
  Range of_call(const Expression& e) const;
  bool compare(Operator op, const Expression& left, const Expression& right);
  void narrow(const Expression& e, Range range);

  std::unordered_map<const Variable*, Range> known_;
  uint32_t nesting_ = 0;  // in choices and calls
};

}  // namespace kymo::shader::ir
