#include "shader/ir/split.h"

#include <algorithm>
#include <utility>

#include "shader/ir/build.h"
#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

class CollectiveSplitter {
 public:
  CollectiveSplitter(Module& module, const std::unordered_set<const Function*>& together)
      : b_(module), together_(together) {}

  void block(Block& statements) {
    Block made;
    made.reserve(statements.size());
    for (Statement* one : statements) statement(*one, made);
    statements = std::move(made);
  }

 private:
  bool has(const Expression* e) const {
    bool found = false;
    for_each_expression(e, [&](const Expression& inner) { found = found || is_together(inner, together_); });
    return found;
  }

  void statement(Statement& s, Block& out) {
    b_.at = s.at;
    for (Block* inner : {&s.before, &s.body, &s.otherwise, &s.step}) block(*inner);
    for (Case& one : s.cases) block(one.body);
    b_.at = s.at;
    if (s.place != nullptr) s.place = extract(s.place, out);
    if (s.value != nullptr && has(s.value)) {
      const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
      const bool stays =
          (s.kind == StatementKind::Declare || s.kind == StatementKind::Evaluate) && is_together(*s.value, together_);
      Block& into = is_loop ? s.before : out;
      s.value = stays ? with_operands(*s.value, into) : extract(s.value, into);
    }
    out.push_back(&s);
  }

  // The same value; its collective operations become statements in `out`.
  const Expression* extract(const Expression* e, Block& out) {
    if (!has(e)) return e;
    const bool right_has = e->operands.size() > 1 && std::any_of(e->operands.begin() + 1, e->operands.end(),
                                                                 [&](const Expression* one) { return has(one); });
    if (right_has) {
      if (e->kind == ExpressionKind::LogicalAnd || e->kind == ExpressionKind::LogicalOr) return logical(*e, out);
      if (e->kind == ExpressionKind::Conditional) return conditional(*e, out);
    }
    const Expression* made = with_operands(*e, out);
    if (!is_together(*e, together_) || e->type->is(TypeKind::Void)) return made;
    const Variable& kept = b_.local("together", e->type);
    out.push_back(b_.declare(kept, made));
    return b_.variable(kept);
  }

  const Expression* with_operands(const Expression& e, Block& out) {
    Expression& made = b_.module().make_expression(e.kind, e.type, e.at);
    made = e;
    for (const Expression*& operand : made.operands) operand = extract(operand, out);
    return &made;
  }

  const Expression* logical(const Expression& e, Block& out) {
    const Variable& result = b_.local("decided", e.type);
    out.push_back(b_.declare(result, extract(e.operands[0], out)));
    Block right;
    const Expression* value = extract(e.operands[1], right);
    right.push_back(b_.assign(b_.variable(result), value));
    const Expression* known = b_.variable(result);
    const bool is_and = e.kind == ExpressionKind::LogicalAnd;
    out.push_back(b_.if_(is_and ? known : b_.logical_not(known), std::move(right)));
    return b_.variable(result);
  }

  const Expression* conditional(const Expression& e, Block& out) {
    const Expression* condition = extract(e.operands[0], out);
    const Variable& result = b_.local("chosen", e.type);
    Block ways[2];
    for (size_t i = 0; i < 2; ++i) {
      const Expression* value = extract(e.operands[1 + i], ways[i]);
      ways[i].push_back(b_.assign(b_.variable(result), value));
    }
    out.push_back(b_.declare(result));
    out.push_back(b_.if_(condition, std::move(ways[0]), std::move(ways[1])));
    return b_.variable(result);
  }

  Builder b_;
  const std::unordered_set<const Function*>& together_;
};

}  // namespace

bool is_together(const Expression& e, const std::unordered_set<const Function*>& together) {
  if (e.kind == ExpressionKind::Call) return together.contains(e.function);
  return e.kind == ExpressionKind::Intrinsic &&
         (is_simd_collective(e.intrinsic) || e.intrinsic == Intrinsic::GroupBarrier);
}

void split_collectives(Module& module, Function& function, const std::unordered_set<const Function*>& together) {
  CollectiveSplitter(module, together).block(function.body);
}

}  // namespace kymo::shader::ir
