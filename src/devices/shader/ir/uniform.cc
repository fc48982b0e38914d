#include "shader/ir/uniform.h"

#include <algorithm>
#include <unordered_map>

namespace kymo::shader::ir {
namespace {

constexpr uint8_t kBreaks = 1, kContinues = 2, kReturns = 4;
constexpr int kMaxRounds = 24;  // then every variable of the function counts as different

bool is_thread_const(const Type& type) { return type.is_pointer() && type.space == Space::Thread && type.is_const; }

}  // namespace

Uniformity::Uniformity(const Module& module, const Uses& uses, ConstMemory memory) : memory_(memory) {
  find_written_by_pointers(module);
  for (const Function* function : module.functions) {
    if (uses.of(*function).has_simd_collectives()) together_.insert(function);
    if (uses.of(*function).has_barriers()) with_barriers_.insert(function);
    // The result of a function for uniform arguments.
    analyze(*function);
    if (!result_varies_) uniform_results_.insert(function);
  }
  is_summing_up_ = false;
  varying_.clear();
  varying_pointees_.clear();
  divergent_.clear();
  returning_.clear();
  // Callers first: they determine the parameters.
  for (auto at = module.functions.rbegin(); at != module.functions.rend(); ++at) analyze(**at);
}

void Uniformity::find_written_by_pointers(const Module& module) {
  std::unordered_map<const Expression*, size_t> to_const;  // how often it is converted: trees may share expressions
  VariableSet addressed;
  bool removes_const = false;
  for (const Function* function : module.functions) {
    for_each_expression(function->body, [&](const Expression& e) {
      if (e.kind == ExpressionKind::PointerCast && e.type->is_pointer()) {
        const Expression& from = *e.operands[0];
        if (is_thread_const(*e.type)) ++to_const[&from];
        removes_const = removes_const || (is_thread_const(*from.type) && !is_thread_const(*e.type));
      }
      if (e.kind != ExpressionKind::AddressOf && e.kind != ExpressionKind::Decay) return;
      const Expression& root = place_root(*e.operands[0]);
      if (root.kind != ExpressionKind::Variable) return;
      addressed.insert(root.variable);
      if (is_thread_const(*e.type)) return;
      if (const auto found = to_const.find(&e); found != to_const.end() && found->second > 0) {
        --found->second;
        return;
      }
      written_by_pointers_.insert(root.variable);
    });
  }
  if (removes_const) written_by_pointers_ = std::move(addressed);
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
      varying_.insert(function.parameters);
      varying_pointees_.insert(function.parameters);
    }
    block(function.body, true);
  } while (changed_ && round <= kMaxRounds);
  if (is_summing_up_) return;
  is_settled_ = true;
  block(function.body, true);
  is_settled_ = false;
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
      return e.variable->space != Space::Thread || written_by_pointers_.contains(e.variable) ||
             varying_.contains(e.variable);
    case ExpressionKind::Dereference:
      return dereference_varies(e);
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay:
      return place_varies(*e.operands[0]);
    case ExpressionKind::Intrinsic:
      return intrinsic_varies(e);
    case ExpressionKind::Call:
      return !uniform_results_.contains(e.function) ||
             std::ranges::any_of(e.operands, [&](const Expression* operand) { return argument_varies(*operand); });
    default:
      break;
  }
  return std::ranges::any_of(e.operands, [&](const Expression* operand) { return varies(*operand); });
}

bool Uniformity::dereference_varies(const Expression& e) const {
  const Expression& pointer = *e.operands[0];
  switch (pointer.type->space) {
    case Space::Constant:
    case Space::Program:
      return varies(pointer);
    case Space::Device:
      return memory_ == ConstMemory::MayChange || !pointer.type->is_const || varies(pointer);
    case Space::Thread:
      return pointee_varies(pointer);
    default:
      return true;
  }
}

bool Uniformity::pointee_varies(const Expression& pointer) const {
  if (!is_thread_const(*pointer.type)) return true;
  const Expression* from = &pointer;
  while (from->kind == ExpressionKind::PointerCast && from->operands[0]->type->is_pointer() &&
         from->operands[0]->type->inner == pointer.type->inner)
    from = from->operands[0];
  if (from->kind == ExpressionKind::AddressOf) return varies(*from->operands[0]);
  return from->kind != ExpressionKind::Variable || !from->variable->is_parameter || varies(*from) ||
         varying_pointees_.contains(from->variable);
}

bool Uniformity::argument_varies(const Expression& e) const {
  return varies(e) || (is_thread_const(*e.type) && pointee_varies(e));
}

void Uniformity::assign(const Variable& variable, bool now_varies) {
  if (now_varies && varying_.insert(&variable)) changed_ = true;
}

// It may point to something else now.
void Uniformity::point_elsewhere(const Variable& variable) {
  if (is_thread_const(*variable.type) && varying_pointees_.insert(&variable)) changed_ = true;
}

// What its calls pass as parameters, and whether all threads reach its simdgroup operations.
void Uniformity::look_at(const Expression* expression, bool together) {
  for_each_expression(expression, [&](const Expression& e) {
    if (e.kind == ExpressionKind::Call) {
      const size_t count = std::min(e.operands.size(), e.function->parameters.size());
      for (size_t i = 0; i < count; ++i) {
        const Expression& given = *e.operands[i];
        if (varies(given)) varying_.insert(e.function->parameters[i]);
        if (is_thread_const(*given.type) && pointee_varies(given)) varying_pointees_.insert(e.function->parameters[i]);
      }
    }
    const bool is_collective = (e.kind == ExpressionKind::Intrinsic && is_simd_collective(e.intrinsic)) ||
                               (e.kind == ExpressionKind::Call && together_.contains(e.function));
    if (is_collective && !together) apart_.insert(&e);
    const bool is_barrier = (e.kind == ExpressionKind::Intrinsic && e.intrinsic == Intrinsic::GroupBarrier) ||
                            (e.kind == ExpressionKind::Call && with_barriers_.contains(e.function));
    if (is_barrier && !together) barriers_apart_.insert(&e);
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
  if (is_settled_ && s.kind != StatementKind::Loop && s.kind != StatementKind::DoLoop) {
    look_at(s.place, together);
    look_at(s.value, together);
  }
  switch (s.kind) {
    case StatementKind::Declare:
      if (s.value != nullptr) assign(*s.variable, !together || varies(*s.value));
      return 0;
    case StatementKind::Assign: {
      const Expression& root = place_root(*s.place);
      if (root.kind != ExpressionKind::Variable) return 0;
      assign(*root.variable, !together || varies(*s.value) || place_varies(*s.place));
      point_elsewhere(*root.variable);
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
  if (is_settled_) look_at(s.value, stay);
  const bool apart = !together || jumps != 0 || (s.value != nullptr && varies(*s.value));
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
