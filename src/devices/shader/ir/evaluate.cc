#include "shader/ir/evaluate.h"

#include <algorithm>
#include <utility>

#include "shader/ir/evaluated.h"
#include "shader/ir/evaluator.h"

namespace kymo::shader::ir {
namespace {

constexpr uint64_t kFoldSteps = 4096;  // larger expressions are left to evaluate_to_expression()

// The same bits on every target: functions that targets may round differently are not folded.
bool fold_is_exact(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::Abs:
    case Intrinsic::Floor:
    case Intrinsic::Ceil:
    case Intrinsic::Trunc:
    case Intrinsic::Rint:
    case Intrinsic::Fmin:
    case Intrinsic::Fmax:
    case Intrinsic::Copysign:
    case Intrinsic::Fma:
    case Intrinsic::IsNan:
    case Intrinsic::IsInf:
      return true;
    default:
      return intrinsic >= Intrinsic::Min && intrinsic <= Intrinsic::Select;
  }
}

bool fold_is_operation(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Unary:
    case ExpressionKind::Binary:
    case ExpressionKind::Convert:
    case ExpressionKind::Bitcast:
    case ExpressionKind::Member:
    case ExpressionKind::Index:
    case ExpressionKind::Swizzle:
      return true;
    case ExpressionKind::Intrinsic:
      return fold_is_exact(e.intrinsic);
    default:
      return false;
  }
}

// x && y and the like, where one side is known.
const Expression* fold_logical(const Expression& e) {
  const bool deciding = e.kind == ExpressionKind::LogicalOr;
  const Expression *left = e.operands[0], *right = e.operands[1];
  if (left->kind == ExpressionKind::Constant) return (left->bits != 0) == deciding ? left : right;
  const bool is_neutral = right->kind == ExpressionKind::Constant && (right->bits != 0) != deciding;
  return is_neutral ? left : &e;
}

// An element of a table of the program, without a copy of the table. Null: it is none, or its place is not constant.
const Expression* fold_constant_place(const Expression& e) {
  if (e.kind == ExpressionKind::Variable) return e.variable->space == Space::Program ? e.variable->value : nullptr;
  if (e.kind != ExpressionKind::Member && e.kind != ExpressionKind::Index) return nullptr;
  const Expression* whole = fold_constant_place(*e.operands[0]);
  if (whole == nullptr || whole->kind != ExpressionKind::Construct) return nullptr;
  uint64_t part = e.index;
  if (e.kind == ExpressionKind::Index) {
    if (e.operands[1]->kind != ExpressionKind::Constant) return nullptr;
    part = e.operands[1]->bits;
  }
  const bool has_parts = whole->operands.size() == part_count(whole->type);  // a vector may be made of smaller ones
  return has_parts && part < whole->operands.size() ? whole->operands[part] : nullptr;
}

// The expression with folded operands; the first stays a place if it must.
const Expression* fold_operands(Module& module, const Expression& e, bool first_is_place) {
  Expression* changed = nullptr;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    const Expression& operand = *e.operands[i];
    const Expression* folded = i == 0 && first_is_place ? fold_place(module, operand) : fold(module, operand);
    if (folded == &operand) continue;
    if (changed == nullptr) {
      changed = &module.make_expression(e.kind, e.type, e.at);
      *changed = e;
    }
    changed->operands[i] = folded;
  }
  return changed != nullptr ? changed : &e;
}

// Whether its value begins with one that only a running kernel has. Most values that are asked about are such ones, and
// an exception of the evaluator is slow.
bool begins_at_run_time(const Expression& expression) {
  const Expression* first = &expression;
  while (!first->operands.empty()) first = first->operands[0];
  if (first->kind == ExpressionKind::Variable) return first->variable->space != Space::Program;
  return first->kind == ExpressionKind::Intrinsic;
}

}  // namespace

std::optional<uint64_t> evaluate_scalar(const Expression& expression) {
  if (expression.kind == ExpressionKind::Constant) return expression.bits;
  if (begins_at_run_time(expression)) return std::nullopt;
  try {
    const Evaluated found = Evaluator().value(expression);
    if (found.kind == EvaluatedKind::Scalar) return found.bits;
  } catch (const NotConstant&) {
  }
  return std::nullopt;
}

const Expression* evaluate_to_expression(Module& module, const Expression& expression) {
  return evaluate_to_expression(module, {}, expression);
}

const Expression* evaluate_to_expression(Module& module, const Block& statements, const Expression& value,
                                         uint64_t* steps) {
  if (value.kind == ExpressionKind::Constant && statements.empty()) return &value;
  if (statements.empty() && begins_at_run_time(value)) return nullptr;
  const uint64_t allowed = steps == nullptr ? Evaluator::kMaxSteps : std::min(*steps, Evaluator::kMaxSteps);
  Evaluator evaluator(allowed);
  const Expression* found = nullptr;
  try {
    found = to_expression(module, value.type, evaluator.run(statements, value), value.at);
  } catch (const NotConstant&) {
  }
  if (steps != nullptr) *steps -= allowed - std::min(allowed, evaluator.steps_left());
  return found;
}

const Expression* fold_node(Module& module, const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr:
      return fold_logical(e);
    case ExpressionKind::Conditional:
      if (e.operands[0]->kind != ExpressionKind::Constant) return &e;
      return e.operands[e.operands[0]->bits != 0 ? 1 : 2];
    default:
      break;
  }
  if (!fold_is_operation(e) && e.kind != ExpressionKind::Variable) return &e;
  if (e.type->is_scalar()) {
    const Expression* part = fold_constant_place(e);
    if (part != nullptr && part->kind == ExpressionKind::Constant) return part;
  }
  if (e.operands.empty() || !e.type->is_number()) return &e;
  if (!std::ranges::all_of(e.operands, [](const Expression* operand) { return is_literal(*operand); })) return &e;
  uint64_t steps = kFoldSteps;
  std::vector<Evaluated> operands;
  for (const Expression* operand : e.operands) {
    auto known = evaluated_literal(*operand, steps);
    if (!known) return &e;
    operands.push_back(std::move(*known));
  }
  const auto made = evaluated_node(e, std::move(operands));
  const Expression* folded = made ? to_expression(module, e.type, *made, e.at) : nullptr;
  return folded != nullptr ? folded : &e;
}

const Expression* fold(Module& module, const Expression& expression) {
  const bool is_address = expression.kind == ExpressionKind::AddressOf || expression.kind == ExpressionKind::Decay;
  return fold_node(module, *fold_operands(module, expression, is_address));
}

const Expression* fold_place(Module& module, const Expression& place) {
  return fold_operands(module, place, place.kind != ExpressionKind::Dereference);
}

}  // namespace kymo::shader::ir
