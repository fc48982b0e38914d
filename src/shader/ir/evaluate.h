// What expressions come to at compile time: sizes of arrays, template arguments, `constexpr` tables, function
// constants.
//
// Everything may be in them that needs no memory but locals and constants of the program: calls, loops, pointers to
// locals. Bounded: after a million steps, or 256 calls deep, an expression counts as not constant. Integers wrap,
// floats round after each operation (scalar.h); exp, sin and the like are the host's.
#pragma once

#include <cstdint>
#include <optional>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// A scalar, as Expression::bits has it. Nothing: not a constant, or not a scalar.
std::optional<uint64_t> evaluate_scalar(const Expression& expression);

// A tree of Constant, Null, Construct and Zero; null where the expression is not a constant.
const Expression* evaluate_to_expression(Module& module, const Expression& expression);
// The statements first, as in a function that returns the value. `steps`, where given, is what all such calls together
// may take: what this one took is taken off.
const Expression* evaluate_to_expression(Module& module, const Block& statements, const Expression& value,
                                         uint64_t* steps = nullptr);

// The same expression, but parts of it that are constant are replaced by what they come to, and choices whose condition
// is known by what is chosen. Cheap: no calls, nothing whose result targets could differ in (exp, sin). The expression
// itself comes back where there is nothing to do.
const Expression* fold(Module& module, const Expression& expression);
const Expression* fold_place(Module& module, const Expression& place);  // stays a place: its indices and pointers alone
// That node alone, its operands being folded: for who builds from the leaves up.
const Expression* fold_node(Module& module, const Expression& expression);

}  // namespace kymo::shader::ir
