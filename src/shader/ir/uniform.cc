#include "shader/ir/uniform.h"

#include <algorithm>

#include "shader/ir/uses.h"

namespace kymo::shader::ir {
namespace {

constexpr uint8_t kBreaks = 1, kContinues = 2, kReturns = 4;
constexpr int kMaxRounds = 24;  // then every variable of the function counts as different

}  // namespace

Uniformity::Uniformity(const Module& module) {
  const Uses uses(module);
  for (const Function* function : module.functions) {
    if (uses.of(*function).has_simd_collectives()) together_.insert(function);
    // The result of a function for uniform arguments.
    analyze(*function);
    if (!result_varies_) uniform_results_.insert(function);
  }
  is_summing_up_ = false;
  varying_.clear();
  divergent_.clear();
  returning_.clear();
  apart_.clear();
  // Callers first: they determine the parameters.
  for (auto at = module.functions.rbegin(); at != module.functions.rend(); ++at) analyze(**at);
}

void Uniformity::analyze(const Function& function) {
  int round = 0;
  do {
    changed_ = false;
    result_varies_ = false;
    if (++round == kMaxRounds) {
      for_each_statement(function.body, [&](const Statement& s) {
        if (s.kind == StatementKind::Declare) varying_.insert(s.variable);
      });
      varying_.insert(function.parameters.begin(), function.parameters.end());
    }
    block(function.body, true);
  } while (changed_ && round <= kMaxRounds);
}

// ---- Values --------------------------------------------------------------------------------------------------------

bool Uniformity::intrinsic_varies(const Expression& e) const {
  switch (e.intrinsic) {
    case Intrinsic::GroupIndex:
    case Intrinsic::GridSize:
    case Intrinsic::GroupSize:
    case Intrinsic::GroupCount:
    case Intrinsic::FullGroupSize:
    case Intrinsic::GroupAny:
      return false;
    default:
      if (e.intrinsic > Intrinsic::Select) return true;
      return std::ranges::any_of(e.operands, [&](const Expression* operand) { return varies(*operand); });
  }
}

bool Uniformity::place_varies(const Expression& place) const {
  switch (place.kind) {
    case ExpressionKind::Variable:
      return false;
    case ExpressionKind::Dereference:
      return varies(*place.operands[0]);
    case ExpressionKind::Index:
      return varies(*place.operands[1]) || place_varies(*place.operands[0]);
    case ExpressionKind::Member:
    case ExpressionKind::Swizzle:
      return place_varies(*place.operands[0]);
    default:
      return varies(place);
  }
}

bool Uniformity::varies(const Expression& e) const {
  switch (e.kind) {
    case ExpressionKind::Variable:
      if (e.variable->space == Space::Program) return false;
      return e.variable->space != Space::Thread || e.variable->address_taken || varying_.contains(e.variable);
    case ExpressionKind::Dereference: {
      const Space space = e.operands[0]->type->space;
      return (space != Space::Constant && space != Space::Program) || varies(*e.operands[0]);
    }
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay:
      return place_varies(*e.operands[0]);
    case ExpressionKind::Intrinsic:
      return intrinsic_varies(e);
    case ExpressionKind::Call:
      if (!uniform_results_.contains(e.function)) return true;
      break;
    default:
      break;
  }
  return std::ranges::any_of(e.operands, [&](const Expression* operand) { return varies(*operand); });
}

void Uniformity::assign(const Variable& variable, bool now_varies) {
  if (now_varies && varying_.insert(&variable).second) changed_ = true;
}

// What its calls pass as parameters, and whether all threads reach its simdgroup operations.
void Uniformity::look_at(const Expression* expression, bool together) {
  for_each_expression(expression, [&](const Expression& e) {
    if (e.kind == ExpressionKind::Call && !is_summing_up_) {
      const size_t count = std::min(e.operands.size(), e.function->parameters.size());
      for (size_t i = 0; i < count; ++i)
        if (varies(*e.operands[i])) varying_.insert(e.function->parameters[i]);
    }
    const bool is_collective = (e.kind == ExpressionKind::Intrinsic && is_simd_collective(e.intrinsic)) ||
                               (e.kind == ExpressionKind::Call && together_.contains(e.function));
    if (is_collective && !together) apart_.insert(&e);
    if (e.kind == ExpressionKind::Intrinsic && e.intrinsic == Intrinsic::GroupBarrier && !together && !is_summing_up_)
      barriers_apart_.insert(&e);
    // The right side of && is another way to go.
    const bool chooses = e.kind == ExpressionKind::LogicalAnd || e.kind == ExpressionKind::LogicalOr ||
                         e.kind == ExpressionKind::Conditional;
    if (!chooses || !varies(*e.operands[0])) return;
    for (size_t i = 1; i < e.operands.size(); ++i) {
      for_each_expression(e.operands[i], [&](const Expression& inner) {
        if (inner.kind == ExpressionKind::Intrinsic && is_simd_collective(inner.intrinsic)) apart_.insert(&inner);
        if (inner.kind == ExpressionKind::Call && together_.contains(inner.function)) apart_.insert(&inner);
      });
    }
  });
}

// ---- Ways ----------------------------------------------------------------------------------------------------------

Uniformity::Jumps Uniformity::block(const Block& statements, bool together) {
  Jumps jumps = 0;
  for (const Statement* s : statements) {
    const Jumps taken = statement(*s, together && jumps == 0);
    if ((taken & kReturns) != 0 && returning_.insert(s).second) changed_ = true;
    jumps |= taken;
  }
  return jumps;
}

Uniformity::Jumps Uniformity::statement(const Statement& s, bool together) {
  if (s.kind != StatementKind::Loop && s.kind != StatementKind::DoLoop) {
    look_at(s.place, together);
    look_at(s.value, together);
  }
  switch (s.kind) {
    case StatementKind::Declare:
      if (s.value != nullptr) assign(*s.variable, !together || varies(*s.value));
      return 0;
    case StatementKind::Assign: {
      const Expression& root = place_root(*s.place);
      if (root.kind == ExpressionKind::Variable)
        assign(*root.variable, !together || varies(*s.value) || place_varies(*s.place));
      return 0;
    }
    case StatementKind::Evaluate:
      return 0;
    case StatementKind::Block:
      return block(s.body, together);
    case StatementKind::If: {
      const bool apart = varies(*s.value);
      if (apart) divergent_.insert(&s);
      const Jumps first = block(s.body, together && !apart);
      return first | block(s.otherwise, together && !apart);
    }
    case StatementKind::Loop:
    case StatementKind::DoLoop:
      return loop(s, together);
    case StatementKind::Switch:
      return switch_(s, together);
    case StatementKind::Break:
      return together ? 0 : kBreaks;
    case StatementKind::Continue:
      return together ? 0 : kContinues;
    case StatementKind::Return:
      if (!together || (s.value != nullptr && varies(*s.value))) result_varies_ = true;
      return together ? 0 : kReturns;
  }
  return 0;
}

Uniformity::Jumps Uniformity::loop(const Statement& s, bool together) {
  const bool stay = together && !divergent_.contains(&s);
  Jumps jumps = 0;
  if (s.kind == StatementKind::Loop) jumps |= block(s.before, stay);
  jumps |= block(s.body, stay);
  jumps |= block(s.step, stay);
  if (s.kind == StatementKind::DoLoop) jumps |= block(s.before, stay);
  look_at(s.value, stay);
  const bool apart = jumps != 0 || (s.value != nullptr && varies(*s.value));
  if (apart && divergent_.insert(&s).second) changed_ = true;
  return jumps & kReturns;
}

Uniformity::Jumps Uniformity::switch_(const Statement& s, bool together) {
  if (varies(*s.value)) divergent_.insert(&s);
  const bool stay = together && !divergent_.contains(&s);
  Jumps jumps = 0;
  for (const Case& one : s.cases) jumps |= block(one.body, stay);
  if ((jumps & kBreaks) != 0 && divergent_.insert(&s).second) changed_ = true;
  return jumps & static_cast<Jumps>(~kBreaks);
}

}  // namespace kymo::shader::ir
