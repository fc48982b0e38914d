#include "shader/sema/lowering/lowering.h"

#include <algorithm>

namespace kymo::shader {

Lowering::Lowering(Context& context, Lookup& lookup, Types& types, Templates& templates, Overloads& overloads)
    : CodeWriter(context),
      options_(context.options),
      diagnostics_(context.diagnostics),
      lookup_(lookup),
      types_(types),
      templates_(templates),
      overloads_(overloads) {}

void Lowering::lower() {
  for (const PlacedDeclaration& placed : lookup_.declared().asserts) {
    if (diagnostics_.is_full()) return;
    try {
      types_.check_assert(*placed.declaration, *placed.scope);
    } catch (const Rejected& rejected) {
      context_.report(rejected);
    }
  }
  try {
    check_constant_indices();
    check_given_constants();
  } catch (const Rejected& rejected) {
    context_.report(rejected);
  }
  lower_kernels();
  if (options_.kernels.empty()) lower_other_functions();
  warn_about_unset_constants();
}

// Functions that no kernel needs are lowered too, to find their errors.
void Lowering::lower_other_functions() {
  for (const Symbol* symbol : lookup_.declared().functions) {
    if (diagnostics_.is_full()) return;
    const ast::Declaration& function = *symbol->declaration;
    if (function.at.file != context_.user_file || function.is_kernel || function.body == nullptr) continue;
    try {
      const std::vector<Parameter>& parameters = overloads_.signature(*symbol, {}).parameters;
      if (std::any_of(parameters.begin(), parameters.end(),
                      [](const Parameter& each) { return each.type.function != nullptr; }))
        continue;  // its instances depend on the functions that it is called with
      need(overloads_.instance(*symbol, {}, {}, nullptr, function.at), function.at);
    } catch (const Rejected& rejected) {
      context_.report(rejected);
    }
  }
}

}  // namespace kymo::shader
