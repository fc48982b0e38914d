#include "shader/sema/sema.h"

#include "shader/ir/recursion.h"
#include "shader/sema/context.h"
#include "shader/sema/lookup.h"
#include "shader/sema/lowering/lowering.h"
#include "shader/sema/overloads.h"
#include "shader/sema/templates.h"
#include "shader/sema/types.h"

namespace kymo::shader {

void analyze(const ast::Tree& tree, const Options& options, Diagnostics& diagnostics, ir::Module& module,
             uint32_t user_file) {
  Context context(options, diagnostics, module, user_file);
  context.matrix_order_is_seen = tree.names_thread_elements;
  Lookup lookup(context);
  Types types(context, lookup);
  Templates templates(context, lookup, types);
  Overloads overloads(context, lookup, types, templates);
  Lowering lowering(context, lookup, types, templates, overloads);
  context.structs = &types;
  context.templates = &templates;
  context.expressions = &lowering;

  lookup.declare_all(tree);
  lowering.lower();
  if (diagnostics.has_errors()) return;
  try {
    ir::resolve_recursion(module);
  } catch (const Rejected& rejected) {
    diagnostics.report(rejected);
  }
}

}  // namespace kymo::shader
