// Evaluates expressions at compile time: sizes of arrays, template arguments, `constexpr` tables, function constants.
//
// Supports everything that needs no memory except locals and program constants: calls, loops, pointers to locals.
// Bounded: after a million steps, or 256 nested calls, an expression counts as not constant. Integers wrap, floats
// round after each operation (scalar.h); exp, sin and similar functions are those of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// A value at compile time: a tree of scalars, with gaps for parts that are not assigned yet.
enum class EvaluatedKind : uint8_t {
  Nothing,  // not assigned yet
  Scalar,   // `bits`, as a Constant has them
  Parts,    // of a vector, array or struct
  Pointer,  // `bits`: 0, or its number among the evaluator's addresses plus 1
};

struct Evaluated {
  EvaluatedKind kind = EvaluatedKind::Nothing;
  uint64_t bits = 0;
  std::vector<Evaluated> parts;

  static Evaluated scalar(uint64_t bits) { return {EvaluatedKind::Scalar, bits, {}}; }
  static Evaluated of(std::vector<Evaluated> parts) { return {EvaluatedKind::Parts, 0, std::move(parts)}; }
};

// The number of parts of an object of this type; 0: a scalar, pointer or atomic.
uint64_t part_count(const Type* type);
const Type* part_type(const Type* type, uint64_t part);

// All 0, or all unassigned. Subtracts one step from `steps` for each value; empty if there are not enough steps.
std::optional<Evaluated> make_evaluated(const Type* type, bool zero, uint64_t& steps);

// Constants, Zero, Null and Construct of such; also Splat of a constant. Empty for anything else.
std::optional<Evaluated> evaluated_literal(const Expression& expression, uint64_t& steps);
bool is_literal(const Expression& expression);  // whether it is one of those; checks three levels

// Null if a part was never assigned, or is a pointer.
const Expression* to_expression(Module& module, const Type* type, const Evaluated& value, Location at);

// The result of an operation for these operands: Unary, Binary, Convert, Bitcast, and Intrinsic of numbers; Member,
// Index and Swizzle of values; Splat and Construct. Empty for others, and if there is no result.
std::optional<Evaluated> evaluated_node(const Expression& e, std::vector<Evaluated> operands);

// A tree of Constant, Null, Construct and Zero; null if the expression is not a constant.
// Evaluates the statements first, as in a function that returns the value. `steps`, if passed, is the budget for all
// such calls together: the steps of this call are subtracted.
const Expression* evaluate_to_expression(Module& module, const Block& statements, const Expression& value,
                                         uint64_t* steps = nullptr);

// The same expression, or its value if it is constant, or the chosen part of a choice with a known condition. The
// operands are already folded: for code that builds from the leaves up. Cheap: no calls, and no functions whose results
// may differ between targets (exp, sin).
const Expression* fold_node(Module& module, const Expression& expression);

}  // namespace kymo::shader::ir
