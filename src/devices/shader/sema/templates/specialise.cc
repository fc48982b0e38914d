// The specialisation that the arguments of a template choose.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/same.h"
#include "shader/sema/templates/templates.h"

namespace kymo::shader {

// A scope with the parameters of the specialisation, bound so that it matches these arguments; null: it does not match.
Scope* Templates::fit_specialisation(const ast::Declaration& special, const Symbol& primary,
                                     const TemplateArguments& arguments, Location at) {
  TemplateArguments flat;
  for (const TemplateArgument& argument : arguments)
    if (argument.kind == TemplateArgument::Kind::Pack)
      flat.insert(flat.end(), argument.pack.begin(), argument.pack.end());
    else
      flat.push_back(argument);
  Deduction deduction(special.template_parameters);
  const std::vector<ast::TemplateArgument>& patterns = special.qualified.last().arguments;
  try {
    if (!match_arguments(patterns, flat, *primary.scope, deduction)) return nullptr;
    Scope* bound = nullptr;
    finish_arguments(special, *primary.scope, deduction.found, at, bound);
    Scope* ignored = nullptr;
    const TemplateArguments written =
        complete_arguments(*primary.declaration, *primary.scope, evaluate_arguments(patterns, *bound), at, ignored);
    return written == arguments ? bound : nullptr;
  } catch (const Rejected&) {
    return nullptr;  // it does not match
  }
}

const ast::Declaration* Templates::specialisation_of(const Symbol& symbol, const TemplateArguments& arguments,
                                                     Scope*& bound, Location at) {
  const ast::Declaration* best = nullptr;
  const ast::Declaration* rival = nullptr;
  for (const ast::Declaration* special : symbol.others) {
    Scope* fitting = fit_specialisation(*special, symbol, arguments, at);
    if (fitting == nullptr) continue;
    if (best != nullptr) {
      const bool is_less = fits_specialisation(*best, *special);
      const bool is_more = fits_specialisation(*special, *best);
      if (is_less && !is_more) continue;
      rival = is_more && !is_less ? nullptr : best;
    }
    best = special;
    bound = fitting;
  }
  if (rival != nullptr)
    throw Rejected{at,
                   base::format("several specialisations of \"{}\" fit <{}>", symbol.name, spell(arguments)),
                   {{Severity::Note, best->at, "this one"}, {Severity::Note, rival->at, "and this one"}}};
  if (best != nullptr) return best;
  bound = symbol.declaration->is_template ? &bind(symbol.declaration->template_parameters, arguments, *symbol.scope)
                                          : symbol.scope;
  return symbol.declaration;
}

}  // namespace kymo::shader
