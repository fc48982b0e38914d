#include "shader/ir/balance.h"

#include <algorithm>
#include <unordered_set>

#include "shader/ir/build.h"
#include "shader/ir/split.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

class BarrierBalancer {
 public:
  BarrierBalancer(Module& module, const std::unordered_set<const Function*>& together)
      : b_(module), together_(together) {}

  // `is_followed`: a barrier comes after the block.
  void block(Block& statements, bool is_followed) {
    for (size_t i = statements.size(); i-- > 0;) {
      Statement& s = *statements[i];
      if (s.kind == StatementKind::If) balance(s, is_followed);
      const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
      const bool follows = is_followed || (is_loop && has_barrier(s));
      for (Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) block(*inner, follows);
      for (Case& one : s.cases) block(one.body, follows);
      is_followed = is_followed || has_barrier(s);
    }
  }

 private:
  void balance(Statement& s, bool is_followed) {
    const bool first = has_barrier(s.body), second = has_barrier(s.otherwise);
    if (first && second) return;
    b_.at = s.at;
    if (first || (is_followed && returns(s.otherwise) && !returns(s.body))) return add(s.otherwise);
    if (second || (is_followed && returns(s.body) && !returns(s.otherwise))) add(s.body);
  }

  void add(Block& way) {
    way.insert(way.begin(), b_.evaluate(b_.intrinsic(Intrinsic::GroupBarrier, {}, kGroupMemory)));
  }

  bool has_barrier(const Block& statements) const {
    return std::ranges::any_of(statements, [&](const Statement* s) { return has_barrier(*s); });
  }
  bool has_barrier(const Statement& s) const {
    bool found = false;
    const auto see = [&](const Expression& e) {
      found = found || is_together(e, together_) ||
              (e.kind == ExpressionKind::Intrinsic && e.intrinsic == Intrinsic::GroupAny);
    };
    for_each_expression(s.place, see);
    for_each_expression(s.value, see);
    for (const Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) for_each_expression(*inner, see);
    for (const Case& one : s.cases) for_each_expression(one.body, see);
    return found;
  }
  static bool returns(const Block& statements) {
    return std::ranges::any_of(statements, [](const Statement* s) {
      return s->kind == StatementKind::Return || returns(s->body) || returns(s->otherwise);
    });
  }

  static constexpr uint32_t kGroupMemory = 2;
  Builder b_;
  const std::unordered_set<const Function*>& together_;
};

}  // namespace

void balance_barriers(Module& module) {
  std::unordered_set<const Function*> together;
  {
    const Uses uses(module);
    for (const Function* function : module.functions) {
      const FunctionUses& used = uses.of(*function);
      if (used.has_simd_collectives() || used.has_barriers()) together.insert(function);
    }
  }
  for (Function* function : module.functions)
    if (together.contains(function)) BarrierBalancer(module, together).block(function->body, false);
}

}  // namespace kymo::shader::ir
