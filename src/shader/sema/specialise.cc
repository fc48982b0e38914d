// Which of a template's specialisations the arguments choose.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/same.h"
#include "shader/sema/sema.h"
#include "shader/sema/tables.h"
#include "shader/sema/work.h"

namespace kymo::shader {

// The arguments that a specialisation's own parameters must have for it to be that of these arguments, bound.
Scope* Meaning::fit_specialisation(const ast::Declaration& special, const Symbol& primary,
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
    return nullptr;  // what does not fit is not chosen
  }
}

const ast::Declaration* Meaning::specialisation_of(const Symbol& symbol, const TemplateArguments& arguments,
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

TemplateArgument Meaning::argument_of(std::string_view name, const Scope& bound) {
  const auto found = bound.symbols.find(name);
  return found == bound.symbols.end() ? TemplateArgument{} : found->second.front()->argument;
}

Value Meaning::variable_template(const Symbol& variable, const TemplateArguments& given, Location at) {
  Scope* bound = nullptr;
  const TemplateArguments arguments = complete_arguments(*variable.declaration, *variable.scope, given, at, bound);
  std::string key = instance_key(&variable, arguments);
  if (const auto known = tables_->variables.find(key); known != tables_->variables.end()) return known->second;
  const DepthGuard guard(tables_->depth, kMostInstantiationDepth, at, "a variable template");
  const ast::Declaration* declaration = specialisation_of(variable, arguments, bound, at);
  const Value value = lower_variable(*declaration, *bound, at);
  tables_->variables.emplace(std::move(key), value);
  return value;
}

}  // namespace kymo::shader
