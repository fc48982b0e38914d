#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

template <typename T>
void uses_add(std::vector<const T*>& list, std::unordered_set<const T*>& known, const T* one) {
  if (known.insert(one).second) list.push_back(one);
}

}  // namespace

bool is_simd_collective(Intrinsic intrinsic) {
  return intrinsic == Intrinsic::SimdBarrier || (intrinsic >= Intrinsic::SimdSum && intrinsic <= Intrinsic::SimdBallot);
}

bool is_together(const Expression& e, const std::unordered_set<const Function*>& together) {
  if (e.kind == ExpressionKind::Call) return together.contains(e.function);
  return e.kind == ExpressionKind::Intrinsic &&
         (is_simd_collective(e.intrinsic) || e.intrinsic == Intrinsic::GroupBarrier);
}

bool has_continue(const Block& block) {
  for (const Statement* statement : block) {
    if (statement->kind == StatementKind::Continue) return true;
    if (statement->kind == StatementKind::Loop || statement->kind == StatementKind::DoLoop) continue;
    if (has_continue(statement->body) || has_continue(statement->otherwise)) return true;
    for (const Case& one : statement->cases)
      if (has_continue(one.body)) return true;
  }
  return false;
}

bool FunctionUses::has_simd_collectives() const {
  for (size_t i = 0; i < kIntrinsicCount; ++i)
    if (intrinsics.test(i) && is_simd_collective(static_cast<Intrinsic>(i))) return true;
  return false;
}

Uses::Uses(const Module& module) : module_(module) {
  for (const Function* function : module.functions) {
    FunctionUses& found = by_function_[function];
    std::unordered_set<const Function*> calls;
    std::unordered_set<const Variable*> constants;
    for_each_expression(function->body, [&](const Expression& e) {
      if (e.kind == ExpressionKind::Call) uses_add(found.calls, calls, e.function);
      if (e.kind == ExpressionKind::Intrinsic) found.intrinsics.set(static_cast<size_t>(e.intrinsic));
      if (e.kind == ExpressionKind::Variable && e.variable->space == Space::Program)
        uses_add(found.constants, constants, e.variable);
    });
    for (const Function* callee : found.calls) {
      const auto known = by_function_.find(callee);
      if (known == by_function_.end()) continue;
      found.intrinsics |= known->second.intrinsics;
      for (const Variable* constant : known->second.constants) uses_add(found.constants, constants, constant);
    }
  }
}

std::vector<const Function*> Uses::reachable_from_kernels() const {
  const std::vector<Function*> kernels = module_.kernels();
  std::vector<const Function*> open(kernels.begin(), kernels.end());
  std::unordered_set<const Function*> reached(open.begin(), open.end());
  while (!open.empty()) {
    const Function* next = open.back();
    open.pop_back();
    const auto uses = by_function_.find(next);
    if (uses == by_function_.end()) continue;
    for (const Function* callee : uses->second.calls)
      if (reached.insert(callee).second) open.push_back(callee);
  }
  // The module's order has callees first already.
  std::vector<const Function*> found;
  for (const Function* function : module_.functions)
    if (reached.contains(function)) found.push_back(function);
  return found;
}

}  // namespace kymo::shader::ir
