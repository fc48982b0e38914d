// The third stage: converts a syntax tree to functions of the IR.
//
// Five classes do the work. Each uses the classes above it in this list; context.h has the few calls in the other
// direction.
//
//   Lookup     lookup.h     scopes and symbols: what a name stands for
//   Types      types.h      what a written type is; structs, their fields and their layout
//   Templates  templates.h  arguments of templates: written, completed by defaults, deduced
//   Overloads  overloads.h  which function a call means; signatures, conversions, instances
//   Lowering   lowering/    expressions, statements and kernels become IR
//
// entity.h has the data that they work on, context.h what they share.
#pragma once

#include <cstdint>

#include "kymo/translate.h"
#include "shader/diagnostic.h"
#include "shader/ir/ir.h"
#include "shader/parse/ast.h"

namespace kymo::shader {

// The whole stage: errors are in `diagnostics`. `user_file`: the source itself. All its functions are lowered, to find
// their errors; of other files only the needed ones.
void analyze(const ast::Tree& tree, const Options& options, Diagnostics& diagnostics, ir::Module& module,
             uint32_t user_file);

}  // namespace kymo::shader
