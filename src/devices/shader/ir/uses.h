// What the functions of a module use, directly and through their calls: computed once, for emitters and passes.
#pragma once

#include <bitset>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Visits everything in it, an outer expression before its operands.
template <typename See>
void for_each_expression(const Expression* expression, const See& see) {
  if (expression == nullptr) return;
  if (expression->operands.empty()) return see(*expression);  // most of them
  ShortList<const Expression*, 32> open;                      // long sums are deep trees: this does not recurse
  for (;;) {
    see(*expression);
    const Operands& operands = expression->operands;
    if (!operands.empty()) {
      for (size_t i = operands.size() - 1; i > 0; --i) open.push_back(operands[i]);
      expression = operands[0];
      continue;
    }
    if (open.empty()) return;
    expression = open.back();
    open.pop_back();
  }
}

// Visits every statement, outer ones before inner ones, with its blocks in the order of ir.h.
template <typename See>
void for_each_statement(const Block& block, const See& see) {
  for (Statement* statement : block) {
    see(*statement);
    for (const Block* inner : {&statement->before, &statement->body, &statement->otherwise, &statement->step})
      for_each_statement(*inner, see);
    for (const Case& one : statement->cases) for_each_statement(one.body, see);
  }
}

template <typename See>
void for_each_expression(const Block& block, const See& see) {
  for_each_statement(block, [&](const Statement& statement) {
    for_each_expression(statement.place, see);
    for_each_expression(statement.value, see);
  });
}

// Whether a Continue in here is that of the loop around it.
bool has_continue(const Block& block);

// Whether it, or a part of it, is a Call or an Intrinsic: only these can have effects.
inline bool has_call(const Expression& expression) {
  bool found = false;
  for_each_expression(&expression, [&](const Expression& one) {
    found |= one.kind == ExpressionKind::Call || one.kind == ExpressionKind::Intrinsic;
  });
  return found;
}

// The position of a thread or a group, or the size of the group or grid: a uint3.
inline bool is_position(Intrinsic intrinsic) {
  return intrinsic >= Intrinsic::GridPosition && intrinsic <= Intrinsic::FullGroupSize;
}

// SimdSum to SimdBallot, and SimdBarrier: the collective operations of a simdgroup. Not the position of a thread in it.
bool is_simd_collective(Intrinsic intrinsic);
inline bool is_of_simdgroups(Intrinsic intrinsic) {  // or the position of a thread in its simdgroup
  return is_simd_collective(intrinsic) || intrinsic == Intrinsic::SimdLane || intrinsic == Intrinsic::SimdIndex;
}
// Whether this node is a simdgroup operation, a group barrier, or a call of a function that contains such.
bool is_together(const Expression& expression, const std::unordered_set<const Function*>& together);

inline constexpr size_t kIntrinsicCount = static_cast<size_t>(Intrinsic::SimdIndex) + 1;

struct FunctionUses {
  std::vector<const Function*> calls;      // direct calls, each once
  std::vector<const Variable*> constants;  // of the program, each once; direct or through calls, like everything below
  std::bitset<kIntrinsicCount> intrinsics;
  bool has(Intrinsic intrinsic) const { return intrinsics.test(static_cast<size_t>(intrinsic)); }
  bool has_simd_collectives() const;
  bool has_barriers() const { return has(Intrinsic::GroupBarrier); }
};

class Uses {
 public:
  explicit Uses(const Module& module);  // whose functions come after their callees

  const FunctionUses& of(const Function& function) const { return by_function_.at(&function); }
  // The kernels and everything they call, callees first.
  std::vector<const Function*> reachable_from_kernels() const;

 private:
  const Module& module_;
  std::unordered_map<const Function*, FunctionUses> by_function_;
};

}  // namespace kymo::shader::ir
