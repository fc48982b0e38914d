// Evaluates expressions at compile time: sizes of arrays, template arguments, `constexpr` tables, function constants.
//
// Supports everything that needs no memory except locals and program constants: calls, loops, pointers to locals.
// Bounded: after a million steps, or 256 nested calls, an expression counts as not constant. Integers wrap, floats
// round after each operation (scalar.h); exp, sin and similar functions are those of the host.
#pragma once

#include <cstdint>
#include <optional>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// A scalar, in the form of Expression::bits. Empty: not a constant, or not a scalar.
std::optional<uint64_t> evaluate_scalar(const Expression& expression);

// A tree of Constant, Null, Construct and Zero; null if the expression is not a constant.
const Expression* evaluate_to_expression(Module& module, const Expression& expression);
// Evaluates the statements first, as in a function that returns the value. `steps`, if passed, is the budget for all
// such calls together: the steps of this call are subtracted.
const Expression* evaluate_to_expression(Module& module, const Block& statements, const Expression& value,
                                         uint64_t* steps = nullptr);

// The same expression, with constant parts replaced by their values, and choices with a known condition replaced by the
// chosen part. Cheap: no calls, and no functions whose results may differ between targets (exp, sin). Returns the
// expression itself if there is nothing to do.
const Expression* fold(Module& module, const Expression& expression);
// Stays a place: folds only its indices and pointers.
const Expression* fold_place(Module& module, const Expression& place);
// Only this node, whose operands are already folded: for code that builds from the leaves up.
const Expression* fold_node(Module& module, const Expression& expression);

}  // namespace kymo::shader::ir
