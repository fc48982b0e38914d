// Template arguments: written, completed by defaults, and bound to the names of the parameters.

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "shader/sema/builtin_types.h"
#include "shader/sema/guards.h"
#include "shader/sema/same.h"
#include "shader/sema/templates/templates.h"

namespace kymo::shader {
namespace {

using ArgumentKind = TemplateArgument::Kind;

std::string_view argument_kind(const TemplateArgument& argument) {
  switch (argument.kind) {
    case ArgumentKind::Type:
      return "a type";
    case ArgumentKind::Value:
      return "a value";
    case ArgumentKind::Template:
      return "a template";
    case ArgumentKind::Pack:
      break;
  }
  return "a pack";
}

}  // namespace

// The struct or alias template with this name; null: it is not a template.
const Symbol* Templates::template_named(const ast::TypeName& type, Scope& scope) {
  if (type.form != ast::TypeForm::Named || type.is_const || type.space || type.name.last().has_arguments ||
      (type.name.parts.size() == 1 && builtin_type(table_, type.name.last().name) != nullptr) ||
      type.name.last().name == "auto")
    return nullptr;
  for (const Symbol* symbol : lookup_.find(type.name, scope, type.at)) {
    if (symbol->kind == Symbol::Kind::Argument && symbol->argument.kind == ArgumentKind::Template)
      return symbol->argument.symbol;
    if (symbol->kind != Symbol::Kind::Type || symbol->declaration == nullptr || symbol->type != nullptr) return nullptr;
    return symbol->declaration->is_template ? symbol : nullptr;
  }
  return nullptr;
}

TemplateArgument Templates::evaluate_argument(const ast::TemplateArgument& written, Scope& scope) {
  TemplateArgument argument;
  if (written.type != nullptr) {
    if (const Symbol* symbol = template_named(*written.type, scope)) {
      argument.kind = ArgumentKind::Template;
      argument.symbol = symbol;
      return argument;
    }
    argument.type = types_.resolve_shape(*written.type, scope);
    if (argument.type.function != nullptr)
      throw Rejected{written.type->at,
                     "the type of a function cannot be a template argument: give the function itself"};
    if (argument.type.class_template != nullptr) throw Types::needs_arguments(argument.type, written.type->at);
    if (argument.type.is_auto) throw Rejected{written.type->at, "auto cannot be a template argument"};
    return argument;
  }
  const ast::Expression& value = *written.value;
  if (value.kind == ast::ExpressionKind::Name) {
    if (const std::optional<QualifiedType> type = types_.try_type(value, scope)) {
      argument.type = *type;
      return argument;
    }
    if (!value.name.last().has_arguments)
      for (const Symbol* symbol : lookup_.find(value.name, scope, value.at)) {
        const bool is_bound = symbol->kind == Symbol::Kind::Argument;
        if (is_bound && symbol->argument.kind != ArgumentKind::Pack) return symbol->argument;
        if (is_bound)
          throw Rejected{value.at,
                         base::format("\"{}\" is a pack: write ... after the pattern that contains it", symbol->name)};
        if (symbol->kind != Symbol::Kind::Type || symbol->declaration == nullptr || !symbol->declaration->is_template)
          break;
        argument.kind = ArgumentKind::Template;
        argument.symbol = symbol->original != nullptr ? symbol->original : symbol;
        return argument;
      }
  }
  argument.kind = ArgumentKind::Value;
  argument.value = context_.expressions->function_named(value, scope);
  if (argument.value != nullptr) return argument;
  argument.value = context_.expressions->constant(value, scope, "a template argument");
  if (argument.value->kind != ir::ExpressionKind::Constant)
    throw Rejected{value.at,
                   base::format("a template argument is a type or a number, not {}", in_quotes(argument.value->type))};
  return argument;
}

TemplateArguments Templates::evaluate_arguments(const std::vector<ast::TemplateArgument>& list, Scope& scope) {
  TemplateArguments evaluated;
  evaluated.reserve(list.size());
  for (const ast::TemplateArgument& written : list) {
    if (!written.is_expansion) {
      evaluated.push_back(evaluate_argument(written, scope));
      continue;
    }
    const Location at = written.type != nullptr ? written.type->at : written.value->at;
    for (Scope* each : expansions(written.value, written.type, scope, at))
      evaluated.push_back(evaluate_argument(written, *each));
  }
  return evaluated;
}

bool Templates::place_given(const std::vector<ast::TemplateParameter>& parameters, const TemplateArguments& given,
                            std::vector<std::optional<TemplateArgument>>& found) {
  size_t next = 0;
  for (size_t i = 0; i < parameters.size() && next < given.size(); ++i) {
    if (!parameters[i].is_pack) {
      found[i] = given[next++];
      continue;
    }
    TemplateArgument pack;
    pack.kind = ArgumentKind::Pack;
    pack.pack.assign(given.begin() + static_cast<ptrdiff_t>(next), given.end());
    next = given.size();
    found[i] = std::move(pack);
  }
  return next == given.size();
}

TemplateArguments Templates::complete_arguments(const ast::Declaration& of, Scope& declared_in,
                                                const TemplateArguments& given, Location at, Scope*& bound) {
  std::vector<std::optional<TemplateArgument>> found(of.template_parameters.size());
  if (!place_given(of.template_parameters, given, found))
    throw Rejected{at, base::format("\"{}\" has {} template parameters, but {} arguments are given", of.name,
                                    of.template_parameters.size(), given.size())};
  return finish_arguments(of, declared_in, found, at, bound);
}

void Templates::check_argument(const ast::TemplateParameter& parameter, TemplateArgument& argument, Scope& bound,
                               Location at) {
  // The name of a struct inside itself is the instance. If a template is expected, it is the template.
  if (parameter.is_template && argument.kind == ArgumentKind::Type)
    if (const Class* made = class_named(argument.type.type); made != nullptr && !made->arguments.empty()) {
      argument.kind = ArgumentKind::Template;
      argument.symbol = made->symbol;
    }
  if (parameter.is_template != (argument.kind == ArgumentKind::Template) ||
      (!parameter.is_template && parameter.is_type != (argument.kind == ArgumentKind::Type)))
    throw Rejected{at, base::format("template parameter \"{}\" takes {}, not {}", parameter.name,
                                    parameter.is_template ? "a template" : (parameter.is_type ? "a type" : "a value"),
                                    argument_kind(argument))};
  if (argument.kind != ArgumentKind::Value || parameter.type == nullptr) return;
  const QualifiedType type = types_.resolve_shape(*parameter.type, bound);
  if (type.function != nullptr) {
    ir::Expression& pointer = context_.module.make_expression(
        ir::ExpressionKind::Construct, context_.expressions->pointed_function(type, argument.value->type, at), at);
    argument.value = &pointer;
    return;
  }
  if (type.is_auto || type.type == argument.value->type) return;
  // decltype(f) as the type of a parameter is the type of functions like f.
  const Class *wanted = class_named(type.type), *given = class_named(argument.value->type);
  if (wanted != nullptr && given != nullptr && wanted->function != nullptr && given->function != nullptr) return;
  if (argument.value->type->is_struct())
    throw Rejected{at, base::format("template parameter \"{}\" takes {}, not {}", parameter.name, in_quotes(type.type),
                                    in_quotes(argument.value->type))};
  if (!type.type->is_scalar())
    throw Rejected{at, base::format("a template's value must be a number, not {}", in_quotes(type.type))};
  argument.value = context_.build(at).convert(type.type, argument.value);
}

TemplateArguments Templates::finish_arguments(const ast::Declaration& of, Scope& declared_in,
                                              std::vector<std::optional<TemplateArgument>>& found, Location at,
                                              Scope*& bound) {
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, at, "a template's list of arguments");
  context_.spend_step(at);
  bound = &lookup_.make_scope(Scope::Kind::Template, &declared_in);
  TemplateArguments finished;
  finished.reserve(found.size());
  const auto earlier = lookup_.declared().forward.find(&of);
  for (size_t i = 0; i < found.size(); ++i) {
    const ast::TemplateParameter& parameter = of.template_parameters[i];
    TemplateArgument argument;
    if (found[i]) {
      argument = std::move(*found[i]);
    } else if (parameter.is_pack) {
      argument.kind = ArgumentKind::Pack;
    } else {
      const ast::TemplateArgument* fallback = &parameter.fallback;
      if (fallback->type == nullptr && fallback->value == nullptr && earlier != lookup_.declared().forward.end() &&
          i < earlier->second->template_parameters.size())
        fallback = &earlier->second->template_parameters[i].fallback;
      if (fallback->type == nullptr && fallback->value == nullptr)
        throw Rejected{at,
                       base::format("template parameter \"{}\" of \"{}\" is neither given nor known from the arguments",
                                    parameter.name, of.name)};
      argument = evaluate_argument(*fallback, *bound);
    }
    if (parameter.is_pack)
      for (TemplateArgument& element : argument.pack) check_argument(parameter, element, *bound, at);
    else
      check_argument(parameter, argument, *bound, at);
    finished.push_back(argument);
    if (!parameter.name.empty())
      lookup_.make_symbol(Symbol::Kind::Argument, parameter.name, *bound).argument = std::move(argument);
  }
  return finished;
}

Scope& Templates::bind(const std::vector<ast::TemplateParameter>& parameters, const TemplateArguments& arguments,
                       Scope& parent) {
  Scope& bound = lookup_.make_scope(Scope::Kind::Template, &parent);
  for (size_t i = 0; i < parameters.size() && i < arguments.size(); ++i)
    if (!parameters[i].name.empty())
      lookup_.make_symbol(Symbol::Kind::Argument, parameters[i].name, bound).argument = arguments[i];
  return bound;
}

}  // namespace kymo::shader
