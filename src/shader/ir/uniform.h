// What is the same for all threads of a group, and where they all go the same way.
//
// The same are: constants, what a kernel was given by value, what lies in `constant` memory at an address that is the
// same, the sizes of grid and group and the group's index, and whatever is calculated from such. A variable is as long
// as all that is assigned to it is, where all threads come along; but not one whose address is taken. A function's
// parameters are where all calls give it such arguments. Everything unknown counts as different.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

class Uniformity {
 public:
  explicit Uniformity(const Module& module);

  // Whether threads may have different values of it.
  bool varies(const Expression& expression) const;
  // Of an If or Switch: whether threads may go different ways in it. Of a loop: take different numbers of turns, or
  // leave some turn early.
  bool diverges(const Statement& statement) const { return divergent_.contains(&statement); }
  // Whether some threads may return from the function in this statement while others do not.
  bool may_return_apart(const Statement& statement) const { return returning_.contains(&statement); }
  // Simdgroup operations that not all threads of a group come to together. Those in functions, where the call stands
  // apart.
  const std::unordered_set<const Expression*>& collectives_apart() const { return apart_; }

 private:
  using Jumps = uint8_t;  // those that some threads take while others do not

  void analyze(const Function& function);
  Jumps block(const Block& statements, bool together);
  Jumps statement(const Statement& s, bool together);
  Jumps loop(const Statement& s, bool together);
  Jumps switch_(const Statement& s, bool together);
  void assign(const Variable& variable, bool varies);
  void look_at(const Expression* expression, bool together);
  bool place_varies(const Expression& place) const;  // where it is, not what is there
  bool intrinsic_varies(const Expression& e) const;

  bool changed_ = false, result_varies_ = false;
  bool is_summing_up_ = true;  // parameters count as uniform, whatever calls say
  std::unordered_set<const Variable*> varying_;
  std::unordered_set<const Function*> uniform_results_;  // where the arguments are uniform
  std::unordered_set<const Function*> together_;         // have simdgroup operations
  std::unordered_set<const Statement*> divergent_, returning_;
  std::unordered_set<const Expression*> apart_;
};

}  // namespace kymo::shader::ir
