// Jumps out of regions, and operands that only those threads may work out that are in one.
#include <algorithm>
#include <utility>

#include "shader/ir/predicate_flow.h"

namespace kymo::shader::ir {

// ---- Jumps ---------------------------------------------------------------------------------------------------------

void Predicator::leave(const Statement& jump, Block& out) {
  if (jump.value != nullptr && result_ != nullptr) out.push_back(b_.assign(b_.variable(*result_), jump.value));
  if (&jump == last_) return;
  for (size_t i = regions_.size(); i-- > 0;) {
    const RegionKind kind = regions_[i].kind;
    out.push_back(b_.assign(b_.variable(*regions_[i].active), b_.constant_bool(false)));
    if (jump.kind == StatementKind::Break && (kind == RegionKind::Loop || kind == RegionKind::Switch)) return;
    if (jump.kind == StatementKind::Continue && kind == RegionKind::Turn) return;
  }
}

bool Predicator::is_own_jump(StatementKind kind, const Inside& inside) const {
  return (kind == StatementKind::Break && inside.breakable) || (kind == StatementKind::Continue && inside.loop);
}

// Whether it contains a jump out of the gathered code.
bool Predicator::leaves(const Statement& s, const Inside& inside) const {
  uint8_t jumps = facts_.at(&s).jumps;
  if (inside.breakable) jumps &= static_cast<uint8_t>(~kBreaks);
  if (inside.loop) jumps &= static_cast<uint8_t>(~kContinues);
  return jumps != 0;
}

// For statements of which only the jumps change: a jump becomes the statements of leave(), then a break out of each
// loop around it. enter() makes the outermost of these loops.
void Predicator::replace_jumps(Block& statements, Inside inside) {
  Block made;
  const auto go = [&](const Inside& from) {
    if (from.is_last) return;
    if (!from.breakable) needs_wrapper_ = true;
    made.push_back(b_.break_());
  };
  for (size_t i = 0; i < statements.size(); ++i) {
    Statement& s = *statements[i];
    b_.at = s.at;
    const bool is_jump =
        s.kind == StatementKind::Break || s.kind == StatementKind::Continue || s.kind == StatementKind::Return;
    if (is_jump && !is_own_jump(s.kind, inside)) {
      leave(s, made);
      go(inside);
      break;
    }
    made.push_back(&s);
    if (is_jump || !leaves(s, inside)) continue;
    Inside deeper = inside;
    deeper.is_last = inside.is_last && i + 1 == statements.size();
    const bool is_loop = s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop;
    if (!is_loop && s.kind != StatementKind::Switch) {
      replace_jumps(s.body, deeper);
      replace_jumps(s.otherwise, deeper);
      continue;
    }
    const Inside within{false, inside.loop || is_loop, true};
    replace_jumps(s.body, within);
    for (Case& one : s.cases) replace_jumps(one.body, within);
    b_.at = s.at;
    if (deeper.is_last) continue;
    if (!inside.breakable) needs_wrapper_ = true;
    made.push_back(b_.if_(b_.logical_not(active()), {b_.break_()}));
  }
  statements = std::move(made);
}

// ---- Operands ------------------------------------------------------------------------------------------------------

bool Predicator::is_harmless_address(const Expression& place) const {
  switch (place.kind) {
    case ExpressionKind::Variable:
      return true;
    case ExpressionKind::Dereference:
      return is_harmless(*place.operands[0]);
    case ExpressionKind::Index:
      return is_harmless(*place.operands[1]) && is_harmless_address(*place.operands[0]);
    default:
      return place.kind == ExpressionKind::Member && is_harmless_address(*place.operands[0]);
  }
}

// Whether a thread may work it out that should not: it reads no memory but variables, and does not divide.
bool Predicator::is_harmless(const Expression& e) const {
  switch (e.kind) {
    case ExpressionKind::Dereference:
    case ExpressionKind::Call:
      return false;
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay:
      return is_harmless_address(*e.operands[0]);
    case ExpressionKind::Index:
      if (e.operands[1]->kind != ExpressionKind::Constant) return false;
      break;
    case ExpressionKind::Binary:
      if ((e.op == Operator::Divide || e.op == Operator::Remainder) && e.type->scalar()->is_integer()) return false;
      break;
    case ExpressionKind::Intrinsic:
      if (e.intrinsic > Intrinsic::Select && e.intrinsic < Intrinsic::GridPosition) return false;
      break;
    default:
      break;
  }
  return std::ranges::all_of(e.operands, [&](const Expression* operand) { return is_harmless(*operand); });
}

const Expression* Predicator::guarded(const Expression* e, Block& gathered, Block& out) {
  if (is_harmless(*e)) return e;
  const bool is_own_memory =
      e->type->is_pointer() && e->type->space != Space::Device && e->type->space != Space::Constant;
  const bool has_steps = e->kind == ExpressionKind::AddressOf || e->kind == ExpressionKind::Decay ||
                         e->kind == ExpressionKind::PointerAdd || e->kind == ExpressionKind::PointerCast;
  // Targets trace such a pointer to its origin: only its operands are guarded.
  if (is_own_memory && has_steps) return guarded_address(e, gathered, out);
  const Variable& kept = b_.local("operand", e->type);
  declare_outside(kept, out);
  gathered.push_back(b_.assign(b_.variable(kept), e));
  return b_.variable(kept);
}

const Expression* Predicator::guarded_address(const Expression* e, Block& gathered, Block& out) {
  Expression& made = b_.module().make_expression(e->kind, e->type, e->at);
  made = *e;
  for (const Expression*& operand : made.operands) {
    const bool is_step = operand->kind == ExpressionKind::Variable || operand->kind == ExpressionKind::Member ||
                         operand->kind == ExpressionKind::Index || operand->kind == ExpressionKind::Dereference;
    const bool is_place_of = e->kind != ExpressionKind::PointerAdd && e->kind != ExpressionKind::PointerCast &&
                             e->kind != ExpressionKind::Dereference && &operand == &made.operands[0];
    operand = is_place_of && is_step ? guarded_address(operand, gathered, out) : guarded(operand, gathered, out);
  }
  return &made;
}

}  // namespace kymo::shader::ir
