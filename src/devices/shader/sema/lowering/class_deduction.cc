// S x(a, b) and S{a, b} without the arguments of the template S: they are deduced from the values.

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

bool deduction_is_constructor(const ast::Declaration& member) {
  return member.kind == ast::DeclarationKind::Function && member.type == nullptr && member.conversion == nullptr &&
         !member.is_deleted && !member.name.starts_with('~');
}

bool deduction_is_field(const ast::Declaration& member) {
  return member.kind == ast::DeclarationKind::Variable && !member.is_static && member.qualified.parts.empty() &&
         !member.name.empty();
}

}  // namespace

// A deduction guide that fits decides. Otherwise each constructor is tried as a function template with the parameters
// of the struct; without constructors, the fields are the parameters. The first one that fits decides.
QualifiedType Lowering::deduce_class(const Symbol& symbol, std::span<const Value> given, Location at) {
  const ast::Declaration& structure = *symbol.declaration;
  // {x} of the same template is a copy.
  if (const Class* same = given.size() == 1 ? class_named(given[0].type) : nullptr;
      same != nullptr && same->symbol == &symbol)
    return {.type = given[0].type};
  if (const auto guides = lookup_.declared().guides.find({symbol.scope, symbol.name});
      guides != lookup_.declared().guides.end()) {
    for (const ast::Declaration* guide : guides->second) {
      if (guide->parameters.size() != given.size()) continue;
      TemplateArguments arguments;
      if (!templates_.deduce(*guide, *symbol.scope, {}, given, arguments)) continue;
      return types_.resolve(*guide->type, templates_.bind(guide->template_parameters, arguments, *symbol.scope));
    }
  }
  ast::Declaration fields;
  std::vector<const ast::Declaration*> candidates;
  for (const ast::Declaration* member : structure.members) {
    if (deduction_is_constructor(*member)) candidates.push_back(member);
    if (deduction_is_field(*member)) fields.parameters.push_back(member);
  }
  if (candidates.empty()) candidates.push_back(&fields);
  for (const ast::Declaration* candidate : candidates) {
    const bool is_fields = candidate == &fields;
    if (given.size() > candidate->parameters.size()) continue;
    bool has_defaults = true;
    for (size_t i = given.size(); i < candidate->parameters.size(); ++i)
      has_defaults = has_defaults && (is_fields || candidate->parameters[i]->initializer != nullptr);
    if (!has_defaults) continue;
    ast::Declaration& function = guides_.emplace_back();
    function.name = structure.name;
    function.at = structure.at;
    function.is_template = true;
    function.template_parameters = structure.template_parameters;
    function.template_parameters.insert(function.template_parameters.end(), candidate->template_parameters.begin(),
                                        candidate->template_parameters.end());
    function.parameters = candidate->parameters;
    TemplateArguments arguments;
    try {
      if (!templates_.deduce(function, *symbol.scope, {}, given, arguments)) continue;
      arguments.resize(structure.template_parameters.size());
      return {.type = types_.instance_of(symbol, arguments, at)};
    } catch (const Rejected&) {
      continue;
    }
  }
  throw Rejected{at, base::format("the template arguments of {0} cannot be deduced here: write {1}<...>",
                                  in_quotes(structure.name), structure.name)};
}

}  // namespace kymo::shader
