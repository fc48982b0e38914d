#include "shader/emit/unroll.h"

#include <algorithm>

#include "base/text.h"
#include "shader/ir/uses.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {
namespace {

using ir::ExpressionKind;
using ir::Operator;
using ir::StatementKind;

constexpr uint64_t kMaxUnrolledRounds = 16;
constexpr uint64_t kMaxUnrolledBodies = 512;  // of nested loops together

// Without conversions: counters of 8 and 16 bits are converted for each operation.
const ir::Expression* unroll_plain(const ir::Expression* expression) {
  while (expression != nullptr && expression->kind == ExpressionKind::Convert) expression = expression->operands[0];
  return expression;
}

bool unroll_is(const ir::Expression* expression, const ir::Variable* variable) {
  expression = unroll_plain(expression);
  return expression != nullptr && expression->kind == ExpressionKind::Variable && expression->variable == variable;
}

const ir::Expression* unroll_constant(const ir::Expression* expression) {
  expression = unroll_plain(expression);
  const bool is_known =
      expression != nullptr && expression->kind == ExpressionKind::Constant && expression->type->is_integer();
  return is_known ? expression : nullptr;
}

bool unroll_mentions(const ir::Expression* expression, const ir::Variable* variable) {
  bool mentions = false;
  ir::for_each_expression(expression, [&](const ir::Expression& one) { mentions |= unroll_is(&one, variable); });
  return mentions;
}

// 0: not known, or more than kMaxUnrolledRounds. Counts upwards from a constant to a constant.
uint64_t unroll_rounds(const ir::Statement& first, const ir::Statement& loop) {
  const ir::Variable* const counter = first.variable;
  const ir::Expression* const begin = unroll_constant(first.value);
  if (begin == nullptr || counter->address_taken || loop.value == nullptr || !loop.before.empty()) return 0;
  const ir::Expression& condition = *loop.value;
  if (condition.kind != ExpressionKind::Binary || !unroll_is(condition.operands[0], counter)) return 0;
  if (condition.op != Operator::Less && condition.op != Operator::LessEqual) return 0;
  const ir::Expression* const end = unroll_constant(condition.operands[1]);
  if (end == nullptr || loop.step.size() != 1 || loop.step[0]->kind != StatementKind::Assign) return 0;
  if (!unroll_is(loop.step[0]->place, counter)) return 0;
  const ir::Expression& next = *unroll_plain(loop.step[0]->value);
  if (next.kind != ExpressionKind::Binary || next.op != Operator::Add || !unroll_is(next.operands[0], counter))
    return 0;
  const ir::Expression* const step = unroll_constant(next.operands[1]);
  if (step == nullptr) return 0;
  const auto from = static_cast<int64_t>(begin->bits), to = static_cast<int64_t>(end->bits);
  const auto by = static_cast<int64_t>(step->bits);
  constexpr int64_t kSmall = int64_t{1} << 30;
  if (by <= 0 || from < -kSmall || to > kSmall || from >= to) return 0;
  const int64_t distance = to - from + (condition.op == Operator::LessEqual ? 1 : 0);
  const auto rounds = static_cast<uint64_t>((distance + by - 1) / by);
  if (rounds > kMaxUnrolledRounds) return 0;
  bool is_changed = false;
  ir::for_each_statement(loop.body, [&](const ir::Statement& one) { is_changed |= unroll_is(one.place, counter); });
  return is_changed ? 0 : rounds;
}

bool unroll_is_of_thread(const ir::Expression& array) {
  if (!ir::is_place(array)) return false;
  const ir::Expression& root = ir::place_root(array);
  if (root.kind == ExpressionKind::Variable) return root.variable->space == Space::Thread;
  return root.operands[0]->type->space == Space::Thread;
}

bool unroll_indexes_arrays(const ir::Statement& loop, const ir::Variable* counter) {
  bool indexes = false;
  ir::for_each_expression(loop.body, [&](const ir::Expression& one) {
    if (indexes || one.kind != ExpressionKind::Index) return;
    indexes = one.operands[0]->type->is_array() && unroll_mentions(one.operands[1], counter) &&
              unroll_is_of_thread(*one.operands[0]);
  });
  return indexes;
}

uint64_t unroll_bodies(const ir::Block& block);

// How often the body is there when it and the loops in it are unrolled; 1 if it is not unrolled.
uint64_t unroll_bodies(const ir::Statement& first, const ir::Statement& loop) {
  const uint64_t inner = unroll_bodies(loop.body);
  const uint64_t rounds = unroll_rounds(first, loop);
  if (rounds < 2 || rounds * inner > kMaxUnrolledBodies) return inner;
  return unroll_indexes_arrays(loop, first.variable) ? rounds * inner : inner;
}

bool unroll_is_counted(const ir::Block& block) {
  return block.size() == 2 && block[0]->kind == StatementKind::Declare && block[1]->kind == StatementKind::Loop;
}

uint64_t unroll_bodies(const ir::Block& block) {
  uint64_t most = 1;
  for (const ir::Statement* one : block) {
    if (one->kind == StatementKind::Block && unroll_is_counted(one->body)) {
      most = std::max(most, unroll_bodies(*one->body[0], *one->body[1]));
      continue;
    }
    for (const ir::Block* inner : {&one->body, &one->otherwise}) most = std::max(most, unroll_bodies(*inner));
    for (const ir::Case& each : one->cases) most = std::max(most, unroll_bodies(each.body));
  }
  return most;
}

}  // namespace

bool should_unroll(const ir::Statement& first, const ir::Statement& loop) {
  return unroll_bodies(first, loop) > unroll_bodies(loop.body);
}

std::string unroll_pragma(uint16_t wish) {
  return wish == kUnrollAll ? "#pragma unroll\n" : base::format("#pragma unroll {}\n", wish);
}

}  // namespace kymo::shader
