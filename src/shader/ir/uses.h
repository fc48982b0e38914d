// What the functions of a module use, themselves and through what they call: worked out once, asked by emitters and
// passes.
#pragma once

#include <bitset>
#include <unordered_map>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// Everything in it, an outer expression before its operands.
template <typename See>
void for_each_expression(const Expression* expression, const See& see) {
  if (expression == nullptr) return;
  std::vector<const Expression*> open = {expression};  // long sums are deep trees: this does not recurse
  while (!open.empty()) {
    const Expression* next = open.back();
    open.pop_back();
    see(*next);
    open.insert(open.end(), next->operands.rbegin(), next->operands.rend());
  }
}

// Every statement, an outer one before those in it, with its blocks in the order of ir.h.
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

// SimdSum to SimdBallot, and SimdBarrier: what the threads of a simdgroup do together. Not where they are in it.
bool is_simd_collective(Intrinsic intrinsic);

inline constexpr size_t kIntrinsicCount = static_cast<size_t>(Intrinsic::SimdIndex) + 1;

struct FunctionUses {
  std::vector<const Function*> calls;      // itself, each once
  std::vector<const Variable*> constants;  // of the program, each once; itself or what it calls, like all that follows
  std::bitset<kIntrinsicCount> intrinsics;
  bool has(Intrinsic intrinsic) const { return intrinsics.test(static_cast<size_t>(intrinsic)); }
  bool has_simd_collectives() const;
  bool has_simdgroups() const;  // those, or where a thread is in its simdgroup
  bool has_barriers() const { return has(Intrinsic::GroupBarrier); }
};

class Uses {
 public:
  explicit Uses(const Module& module);  // whose functions stand behind what they call

  const FunctionUses& of(const Function& function) const { return by_function_.at(&function); }
  // The function and all that it calls, callees first.
  std::vector<const Function*> reachable(const Function& from) const;
  std::vector<const Function*> reachable_from_kernels() const;

 private:
  std::vector<const Function*> ordered(std::vector<const Function*> open) const;

  const Module& module_;
  std::unordered_map<const Function*, FunctionUses> by_function_;
};

// Sets Variable::address_taken of every variable of the module to whether AddressOf or Decay is applied to a part of
// it.
void mark_address_taken(Module& module);

}  // namespace kymo::shader::ir
