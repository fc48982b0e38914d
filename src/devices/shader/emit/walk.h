// Visits everything in a function: each statement and each expression once, outer ones before inner ones.
#pragma once

#include "shader/ir/ir.h"

namespace kymo::shader {

// Not recursive, because long sums are deep trees.
template <class See>
void walk_expression(const ir::Expression* expression, const See& see) {
  ShortList<const ir::Expression*, 32> open;
  while (expression != nullptr) {
    see(*expression);
    open.append(expression->operands.begin(), expression->operands.end());
    expression = open.empty() ? nullptr : open.back();
    if (!open.empty()) open.pop_back();
  }
}

// `see` takes a const ir::Statement& or a const ir::Expression&.
template <class See>
void walk_block(const ir::Block& block, const See& see) {
  for (const ir::Statement* statement : block) {
    see(*statement);
    walk_expression(statement->place, see);
    walk_expression(statement->value, see);
    for (const ir::Block* inner : {&statement->before, &statement->body, &statement->otherwise, &statement->step})
      walk_block(*inner, see);
    for (const ir::Case& one : statement->cases) walk_block(one.body, see);
  }
}

// For callers that need only one of them: Overloaded{[](const ir::Statement&) {}, [&](const ir::Expression& e) { … }}.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Simd* and everything about the position of a thread in its simdgroup.
inline bool is_of_simdgroups(ir::Intrinsic intrinsic) {
  switch (intrinsic) {
    case ir::Intrinsic::SimdBarrier:
    case ir::Intrinsic::SimdLane:
    case ir::Intrinsic::SimdIndex:
      return true;
    default:
      return intrinsic >= ir::Intrinsic::SimdSum && intrinsic <= ir::Intrinsic::SimdBallot;
  }
}

// The position of a thread or a group, or the size of the group or grid: a uint3.
inline bool is_position(ir::Intrinsic intrinsic) {
  return intrinsic >= ir::Intrinsic::GridPosition && intrinsic <= ir::Intrinsic::FullGroupSize;
}

}  // namespace kymo::shader
