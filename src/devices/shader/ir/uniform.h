// Which values are the same for all threads of a group, and where all threads take the same way.
//
// These values are the same: constants, kernel arguments that are passed by value, `constant` memory at a uniform
// address, the sizes of grid and group and the index of the group, and everything computed from such values. A variable
// is uniform if all values assigned to it are uniform and all threads execute the assignments, and no pointer can write
// to it. The parameters of a function are uniform if all calls pass uniform arguments; what a `thread const T&` refers
// to is uniform if all calls pass uniform variables. Everything unknown counts as different.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "shader/ir/ir.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {

// Variables of one module.
class VariableSet {
 public:
  bool contains(const Variable* variable) const { return variable->id < has_.size() && has_[variable->id]; }
  bool insert(const Variable* variable) {  // false: it was there already
    if (contains(variable)) return false;
    if (variable->id >= has_.size()) has_.resize(2 * size_t{variable->id} + 1);
    has_[variable->id] = true;
    return true;
  }
  void insert(const std::vector<const Variable*>& variables) {
    for (const Variable* variable : variables) insert(variable);
  }
  void clear() { has_.clear(); }

 private:
  std::vector<bool> has_;  // by Variable::id
};

class Uniformity {
 public:
  // Whether `device const` memory at a uniform address is the same for all threads. Another pointer may write to it
  // while the kernel runs, so code must not rely on it; a warning may.
  enum class ConstMemory : uint8_t { MayChange, Stays };
  explicit Uniformity(const Module& module, ConstMemory memory = ConstMemory::MayChange)
      : Uniformity(module, Uses(module), memory) {}
  Uniformity(const Module& module, const Uses& uses, ConstMemory memory);  // with the uses of this module

  // Whether threads may have different values of it.
  bool varies(const Expression& expression) const;
  // For an If or Switch: whether threads may take different ways in it. For a loop: whether they may execute different
  // numbers of iterations, or leave an iteration early, or are not all of those that call the function.
  bool diverges(const Statement& statement) const { return divergent_.contains(&statement); }
  // Whether some threads may return from the function in this statement while others do not.
  bool may_return_apart(const Statement& statement) const { return returning_.contains(&statement); }
  // Simdgroup operations that some threads of a group may not reach. For those in functions, the call is the one that
  // not all threads reach.
  const std::unordered_set<const Expression*>& collectives_apart() const { return apart_; }
  // Group barriers, and calls of functions with group barriers, that some threads of a group may not reach because of
  // the function that they are in.
  const std::unordered_set<const Expression*>& barriers_apart() const { return barriers_apart_; }

 private:
  using Jumps = uint8_t;  // those that some threads take while others do not

  void analyze(const Function& function);
  Jumps block(const Block& statements, bool together);
  Jumps statement(const Statement& s, bool together);
  Jumps loop(const Statement& s, bool together);
  Jumps switch_(const Statement& s, bool together);
  void assign(const Variable& variable, bool varies);
  void point_elsewhere(const Variable& variable);
  void look_at(const Expression* expression, bool together);
  bool place_varies(const Expression& place) const;  // its address, not its contents
  bool intrinsic_varies(const Expression& e) const;
  bool dereference_varies(const Expression& e) const;
  bool pointee_varies(const Expression& pointer) const;  // of a `thread const` pointer
  bool argument_varies(const Expression& e) const;       // it, or what it points to
  void find_written_by_pointers(const Module& module);

  const ConstMemory memory_;
  bool changed_ = false, result_varies_ = false;
  bool is_summing_up_ = true;  // parameters count as uniform, independent of the calls
  bool is_settled_ = false;    // what varies in the function is known
  VariableSet varying_;
  VariableSet varying_pointees_;                         // `thread const` pointers to values that vary
  VariableSet written_by_pointers_;                      // perhaps: a pointer to it or to its part is not const
  std::unordered_set<const Function*> uniform_results_;  // if the arguments are uniform
  std::unordered_set<const Function*> together_;         // have simdgroup operations
  std::unordered_set<const Function*> with_barriers_;
  std::unordered_set<const Statement*> divergent_, returning_;
  std::unordered_set<const Expression*> apart_, barriers_apart_;
};

}  // namespace kymo::shader::ir
