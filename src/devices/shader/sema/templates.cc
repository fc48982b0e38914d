// Template arguments: written, completed by defaults, deduced, and bound to the names of the parameters.

#include "shader/sema/templates.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "shader/sema/builtins.h"
#include "shader/sema/lowering/lowering.h"
#include "shader/sema/same.h"

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

// ---- Specialisations ------------------------------------------------------------------------------------------------

// The specialisation that the arguments of a template choose.

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

// ---- Packs ----------------------------------------------------------------------------------------------------------

// Expansion of packs: a pattern before ... is used once for each element.

namespace {

// The names in a part of a tree that may be packs, except those inside another pattern with "...".
class MentionedNames {
 public:
  std::vector<std::string_view> names;

  void expression(const ast::Expression& expression) {
    if (expression.kind == ast::ExpressionKind::SizeofPack || expression.kind == ast::ExpressionKind::Fold) return;
    name(expression.name);
    if (expression.type != nullptr) type(*expression.type);
    for (const ast::Expression* operand : expression.operands)
      if (!operand->is_expansion) this->expression(*operand);
    if (expression.lambda == nullptr) return;
    for (const ast::Capture& capture : expression.lambda->captures) {
      add(capture.name);
      if (capture.value != nullptr) this->expression(*capture.value);
    }
    if (expression.lambda->function->body != nullptr) statement(*expression.lambda->function->body);
  }
  void type(const ast::TypeName& type) {
    name(type.name);
    if (type.expression != nullptr) expression(*type.expression);
    if (type.inner != nullptr) this->type(*type.inner);
    for (const ast::TypeName* parameter : type.parameters) this->type(*parameter);
  }

 private:
  void add(std::string_view name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  void name(const ast::Name& name) {
    for (size_t i = 0; i < name.parts.size(); ++i) {
      if (name.parts[i].decltype_of != nullptr) expression(*name.parts[i].decltype_of);
      if (i == 0 && !name.from_global) add(name.parts[0].name);
      for (const ast::TemplateArgument& argument : name.parts[i].arguments) {
        if (argument.is_expansion) continue;
        if (argument.type != nullptr) type(*argument.type);
        if (argument.value != nullptr) expression(*argument.value);
      }
    }
  }
  void statement(const ast::Statement& statement) {
    for (const ast::Statement* each : statement.statements) this->statement(*each);
    for (const ast::Statement* each : {statement.init, statement.body, statement.otherwise})
      if (each != nullptr) this->statement(*each);
    for (const ast::Expression* each : {statement.expression, statement.step})
      if (each != nullptr) expression(*each);
    for (const ast::Declaration* each : statement.declarations) {
      if (each->type != nullptr) type(*each->type);
      if (each->initializer != nullptr) expression(*each->initializer);
      for (const ast::Expression* argument : each->direct_arguments) expression(*argument);
    }
  }
};

}  // namespace

std::vector<Scope*> Templates::expansions(const ast::Expression* expression, const ast::TypeName* type, Scope& scope,
                                          Location at) {
  MentionedNames mentioned;
  if (expression != nullptr) mentioned.expression(*expression);
  if (type != nullptr) mentioned.type(*type);
  std::vector<const Symbol*> packs;
  size_t count = 0;
  for (const std::string_view name : mentioned.names)
    for (const Symbol* symbol : lookup_.find(name, scope)) {
      const bool is_bound =
          symbol->kind == Symbol::Kind::Argument && symbol->argument.kind == TemplateArgument::Kind::Pack;
      if (!is_bound && symbol->kind != Symbol::Kind::LocalPack) continue;
      const size_t size = is_bound ? symbol->argument.pack.size() : symbol->locals.size();
      if (!packs.empty() && size != count)
        throw Rejected{at, base::format("the packs \"{}\" and \"{}\" differ in length: {} and {}", packs[0]->name,
                                        symbol->name, count, size)};
      count = size;
      packs.push_back(symbol);
    }
  if (packs.empty()) throw Rejected{at, "there is no pack before ... to expand"};
  if (count > kMaxPackElements)
    throw Rejected{at, base::format("a pack of {} is too large: the max is {} elements", count, kMaxPackElements)};
  std::vector<Scope*> scopes;
  scopes.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Scope& each = *scopes.emplace_back(&lookup_.make_scope(Scope::Kind::Template, &scope));
    for (const Symbol* pack : packs)
      if (pack->kind == Symbol::Kind::LocalPack)
        lookup_.make_symbol(Symbol::Kind::Local, pack->name, each).value = pack->locals[i];
      else
        lookup_.make_symbol(Symbol::Kind::Argument, pack->name, each).argument = pack->argument.pack[i];
  }
  return scopes;
}

size_t Templates::pack_size(std::string_view name, const Scope& scope, Location at) const {
  for (const Symbol* symbol : lookup_.find(name, scope)) {
    if (symbol->kind == Symbol::Kind::LocalPack) return symbol->locals.size();
    if (symbol->kind == Symbol::Kind::Argument && symbol->argument.kind == TemplateArgument::Kind::Pack)
      return symbol->argument.pack.size();
  }
  throw Rejected{at, base::format("\"{}\" is not a pack", name)};
}

// ---- Deduction ------------------------------------------------------------------------------------------------------

// Deduces template arguments from the arguments of a call, and the type that `auto` stands for.

namespace {

using Patterns = std::vector<ast::TemplateArgument>;

bool deduce_is_bare(const ast::Name& name) {
  return name.parts.size() == 1 && !name.from_global && !name.parts[0].has_arguments;
}

// Whether a type contains a parameter that was not given and must be deduced.
class OpenParameters {
 public:
  explicit OpenParameters(const Deduction& deduction) : deduction_(deduction), given_(deduction.found.size()) {
    for (size_t i = 0; i < given_.size(); ++i) given_[i] = deduction.found[i] && !deduction.parameters[i].is_pack;
  }

  bool in(const ast::TypeName& type) const {
    if (in(type.name)) return true;
    if (type.expression != nullptr && in(*type.expression)) return true;
    return type.inner != nullptr && in(*type.inner);
  }

 private:
  bool in(const ast::Name& name) const {
    for (const ast::NamePart& part : name.parts) {
      if (const size_t i = deduction_.index_of(part.name); i != SIZE_MAX && !given_[i]) return true;
      for (const ast::TemplateArgument& argument : part.arguments)
        if ((argument.type != nullptr && in(*argument.type)) || (argument.value != nullptr && in(*argument.value)))
          return true;
    }
    return false;
  }
  bool in(const ast::Expression& expression) const {
    if (in(expression.name) || (expression.type != nullptr && in(*expression.type))) return true;
    return std::ranges::any_of(expression.operands, [&](const ast::Expression* operand) { return in(*operand); });
  }
  const Deduction& deduction_;
  std::vector<bool> given_;
};

bool deduce_found(Deduction& deduction, size_t index, const TemplateArgument& argument) {
  if (deduction.parameters[index].is_pack && !deduction.in_pack) return false;
  std::optional<TemplateArgument>& known = deduction.found[index];
  if (!known) {
    known = argument;
    return true;
  }
  bool is_same = known->kind == argument.kind;
  if (is_same && known->kind == ArgumentKind::Value) is_same = known->value->bits == argument.value->bits;
  if (is_same && known->kind == ArgumentKind::Template) is_same = known->symbol == argument.symbol;
  if (is_same && known->kind == ArgumentKind::Type) {
    is_same = known->type.type == argument.type.type;
    // The same type in several places: only their common qualifiers remain.
    if (known->type.space != argument.type.space) known->type.space.reset();
    known->type.is_const = known->type.is_const && argument.type.is_const;
  }
  if (!is_same) {
    deduction.conflict = index;
    deduction.second = argument;
  }
  return is_same;
}

bool deduce_fits_space(const ast::TypeName& pattern, const QualifiedType& actual) {
  if (!pattern.space || !actual.space || *pattern.space == *actual.space) return true;
  if (*pattern.space != Space::Constant) return false;
  return *actual.space == Space::Program || (*actual.space == Space::Thread && actual.is_const);
}

}  // namespace

bool Templates::match_type(const ast::TypeName& pattern, const QualifiedType& actual, Scope& scope,
                           Deduction& deduction) {
  switch (pattern.form) {
    case ast::TypeForm::Named: {
      if (!deduce_is_bare(pattern.name)) return match_named(pattern.name, actual, scope, deduction);
      const size_t index = deduction.index_of(pattern.name.last().name);
      if (index == SIZE_MAX || deduction.parameters[index].is_template) return true;
      TemplateArgument argument;
      argument.type = actual;
      const bool is_implied = actual.space && is_read_only(*actual.space);  // constant memory is always const
      argument.type.is_const = actual.is_const && !pattern.is_const && !is_implied;
      if (pattern.space || actual.space == Space::Thread) argument.type.space.reset();
      return deduce_found(deduction, index, argument);
    }
    case ast::TypeForm::Pointer: {
      const Type* type = actual.type;
      if (type->is(TypeKind::Reference)) type = type->inner;
      if (pattern.inner->form == ast::TypeForm::Function) return type->is_struct();  // nothing is deduced from it
      if (!type->is_pointer()) return false;
      const QualifiedType pointee{.type = type->inner, .is_const = type->is_const, .space = type->space};
      return deduce_fits_space(*pattern.inner, pointee) && match_type(*pattern.inner, pointee, scope, deduction);
    }
    case ast::TypeForm::Reference:
    case ast::TypeForm::RvalueReference: {
      QualifiedType to = actual;
      if (actual.type->is(TypeKind::Reference))
        to = {.type = actual.type->inner, .is_const = actual.type->is_const, .space = actual.type->space};
      if (to.space && !deduce_fits_space(*pattern.inner, to)) {
        if (!pattern.inner->is_const) return false;
        to.space.reset();  // it will refer to a copy
      }
      const bool forwards = pattern.form == ast::TypeForm::RvalueReference && !pattern.inner->is_const &&
                            pattern.inner->form == ast::TypeForm::Named && to.space;
      if (forwards) to = {.type = table_.reference(to.type, *to.space, to.is_const)};
      return match_type(*pattern.inner, to, scope, deduction);
    }
    case ast::TypeForm::Array: {
      if (!actual.type->is_array()) return false;
      QualifiedType element = actual;
      element.type = actual.type->inner;
      if (!match_type(*pattern.inner, element, scope, deduction)) return false;
      if (pattern.expression == nullptr) return true;
      TemplateArgument count;
      count.kind = ArgumentKind::Value;
      count.value = context_.build(pattern.at).constant_uint(actual.type->count);
      return match_argument({nullptr, pattern.expression, false}, count, scope, deduction);
    }
    case ast::TypeForm::Decltype:
      return true;  // nothing is deduced from it
    case ast::TypeForm::Function:
      return actual.type->is_struct();  // nothing is deduced from it
  }
  return false;
}

// A name with scopes or with arguments.
bool Templates::match_named(const ast::Name& name, const QualifiedType& actual, Scope& scope, Deduction& deduction) {
  const ast::NamePart& last = name.last();
  if (!last.has_arguments) return true;  // a::T, T::type: nothing is deduced from it
  for (size_t i = 0; i + 1 < name.parts.size(); ++i)
    if (name.parts[i].has_arguments || deduction.index_of(name.parts[i].name) != SIZE_MAX) return true;
  const Type* type = actual.type->is(TypeKind::Reference) ? actual.type->inner : actual.type;

  const Symbol* symbol = nullptr;
  const size_t index = name.parts.size() == 1 ? deduction.index_of(last.name) : SIZE_MAX;
  if (index == SIZE_MAX)
    for (const Symbol* each : lookup_.find(name, scope, last.at))
      if (each->kind == Symbol::Kind::Type || each->kind == Symbol::Kind::Argument) {
        symbol = each;
        break;
      }
  if (symbol != nullptr && symbol->kind == Symbol::Kind::Argument) symbol = symbol->argument.symbol;
  if (symbol != nullptr && symbol->original != nullptr) symbol = symbol->original;

  if (index == SIZE_MAX && (symbol == nullptr || types_.is_hook(*symbol)))
    return match_hook(last, type, scope, deduction);
  if (symbol != nullptr && symbol->declaration->kind == ast::DeclarationKind::Alias) {
    const ast::Declaration& alias = *symbol->declaration;
    Deduction through(alias.template_parameters);
    if (!match_type(*alias.type, actual, *symbol->scope, through)) return false;
    for (size_t i = 0; i < through.found.size() && i < last.arguments.size(); ++i)
      if (through.found[i] && !last.arguments[i].is_expansion && through.found[i]->kind != ArgumentKind::Pack &&
          !match_argument(last.arguments[i], *through.found[i], scope, deduction))
        return false;
    return true;
  }
  const Class* made = types_.class_of(type);
  if (made == nullptr) return false;
  return match_class(last, *made, symbol, index, scope, deduction);
}

bool Templates::match_class(const ast::NamePart& pattern, const Class& made, const Symbol* symbol, size_t index,
                            Scope& scope, Deduction& deduction) {
  const bool is_it = symbol != nullptr ? made.symbol == symbol : made.symbol != nullptr && !made.arguments.empty();
  if (is_it) {
    if (symbol == nullptr) {
      TemplateArgument argument;
      argument.kind = ArgumentKind::Template;
      argument.symbol = made.symbol;
      if (!deduce_found(deduction, index, argument)) return false;
    }
    TemplateArguments flat;
    for (const TemplateArgument& argument : made.arguments)
      if (argument.kind == ArgumentKind::Pack)
        flat.insert(flat.end(), argument.pack.begin(), argument.pack.end());
      else
        flat.push_back(argument);
    return match_arguments(pattern.arguments, flat, scope, deduction);
  }
  for (const Class* base : made.bases) {
    Deduction attempt = deduction;
    if (!match_class(pattern, *base, symbol, index, scope, attempt)) continue;
    deduction.found = std::move(attempt.found);
    return true;
  }
  return false;
}

bool Templates::match_hook(const ast::NamePart& pattern, const Type* actual, Scope& scope, Deduction& deduction) {
  if (pattern.name == "vec" || pattern.name == "packed_vec") {
    if (!actual->is_vector() || pattern.arguments.size() != 2) return false;
    TemplateArgument component;
    component.type.type = actual->inner;
    TemplateArgument count;
    count.kind = ArgumentKind::Value;
    count.value = context_.build(pattern.at).constant_int(actual->count);
    return match_argument(pattern.arguments[0], component, scope, deduction) &&
           match_argument(pattern.arguments[1], count, scope, deduction);
  }
  if (pattern.name == "atomic") {
    if (!actual->is(TypeKind::Atomic) || pattern.arguments.size() != 1) return false;
    TemplateArgument value;
    value.type.type = actual->inner;
    return match_argument(pattern.arguments[0], value, scope, deduction);
  }
  return true;  // nothing is deduced from the others
}

bool Templates::match_argument(const ast::TemplateArgument& pattern, const TemplateArgument& actual, Scope& scope,
                               Deduction& deduction) {
  if (pattern.type != nullptr)
    return actual.kind == ArgumentKind::Type && match_type(*pattern.type, actual.type, scope, deduction);
  if (pattern.value->kind != ast::ExpressionKind::Name) return true;  // N + 1: nothing is deduced from it
  const ast::Name& name = pattern.value->name;
  if (deduce_is_bare(name)) {
    const size_t index = deduction.index_of(name.last().name);
    return index == SIZE_MAX || deduce_found(deduction, index, actual);
  }
  return actual.kind != ArgumentKind::Type || match_named(name, actual.type, scope, deduction);
}

bool Templates::match_arguments(const std::vector<ast::TemplateArgument>& patterns, const TemplateArguments& actual,
                                Scope& scope, Deduction& deduction) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].is_expansion) {
      const auto each = [&](Deduction& element, size_t k) {
        return match_argument(patterns[i], actual[i + k], scope, element);
      };
      return match_pack(actual.size() - std::min(i, actual.size()), each, deduction);
    }
    if (i >= actual.size()) return true;  // a specialisation may omit arguments that have defaults
    if (!match_argument(patterns[i], actual[i], scope, deduction)) return false;
  }
  return true;  // the others have defaults, and the type that is made of the pattern shows whether they fit
}

bool Templates::match_pack(size_t count, const std::function<bool(Deduction&, size_t)>& each, Deduction& deduction) {
  if (count > kMaxPackElements) return false;
  std::vector<std::optional<TemplateArgument>> packs(deduction.found.size());
  for (size_t k = 0; k < count; ++k) {
    Deduction element = deduction;
    element.in_pack = true;
    for (size_t p = 0; p < element.found.size(); ++p)
      if (element.parameters[p].is_pack) element.found[p].reset();
    if (!each(element, k)) return false;
    for (size_t p = 0; p < element.found.size(); ++p) {
      if (!element.parameters[p].is_pack) {
        deduction.found[p] = std::move(element.found[p]);
      } else if (element.found[p]) {
        if (!packs[p]) packs[p].emplace().kind = ArgumentKind::Pack;
        packs[p]->pack.push_back(std::move(*element.found[p]));
      }
    }
  }
  for (size_t p = 0; p < packs.size(); ++p) {
    if (!packs[p]) continue;
    // Explicit arguments come first.
    if (deduction.found[p])
      std::copy_n(deduction.found[p]->pack.begin(), std::min(deduction.found[p]->pack.size(), packs[p]->pack.size()),
                  packs[p]->pack.begin());
    deduction.found[p] = std::move(packs[p]);
  }
  return true;
}

bool Templates::deduce(const ast::Declaration& function, Scope& scope, const TemplateArguments& given,
                       std::span<const Value> arguments, TemplateArguments& into) {
  conflict_.clear();
  Deduction deduction(function.template_parameters);
  if (!place_given(function.template_parameters, given, deduction.found)) return false;
  const OpenParameters open(deduction);
  const auto actual_for = [&](const ast::TypeName& pattern, const Value& value) {
    QualifiedType actual{.type = value.type};
    const bool is_reference =
        pattern.form == ast::TypeForm::Reference || pattern.form == ast::TypeForm::RvalueReference;
    if (is_reference) {
      actual.is_const = value.is_const && value.is_place;
      if (value.is_place) actual.space = value.space;
    } else if (value.type->is_array()) {
      actual.type = types_.pointer_to({.type = value.type->inner, .is_const = value.is_const, .space = value.space});
    } else if (value.type->is_vector() && value.type->packed) {
      actual.type = table_.vector(value.type->inner, value.type->count);
    }
    return actual;
  };
  const auto is_open = [](const Value& value) {
    return value.braces != nullptr || value.is_null || value.type == nullptr;
  };
  // A parameter `T values[N]` is a pointer: nothing is known of the size of its array.
  const auto match_parameter = [&](const ast::TypeName& pattern, const QualifiedType& actual, Scope& in,
                                   Deduction& into_deduction) {
    if (pattern.form != ast::TypeForm::Array || !actual.type->is_pointer())
      return match_type(pattern, actual, in, into_deduction);
    const QualifiedType element{
        .type = actual.type->inner, .is_const = actual.type->is_const, .space = actual.type->space};
    return deduce_fits_space(*pattern.inner, element) && match_type(*pattern.inner, element, in, into_deduction);
  };
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const ast::Declaration& parameter = *function.parameters[i];
    const ast::TypeName& pattern = *parameter.type;
    if (parameter.is_variadic) {
      const size_t count = arguments.size() - std::min(i, arguments.size());
      const auto each = [&](Deduction& element, size_t k) {
        const Value& value = arguments[i + k];
        return is_open(value) || match_type(pattern, actual_for(pattern, value), scope, element);
      };
      if (!match_pack(count, each, deduction)) return false;
      break;
    }
    if (i >= arguments.size()) break;
    if (is_open(arguments[i]) || !open.in(pattern)) continue;
    if (match_parameter(pattern, actual_for(pattern, arguments[i]), scope, deduction)) continue;
    if (deduction.conflict != SIZE_MAX)
      conflict_ =
          base::format("\"{}\" would be both {} and {}", deduction.parameters[deduction.conflict].name,
                       in_quotes(spell({*deduction.found[deduction.conflict]})), in_quotes(spell({deduction.second})));
    return false;
  }
  Scope* bound = nullptr;
  into = finish_arguments(function, scope, deduction.found, function.at, bound);
  return true;
}

// ---- auto -----------------------------------------------------------------------------------------------------------

// The type that `auto` stands for.

namespace {

const std::vector<ast::TemplateParameter>& auto_parameter() {
  static const std::vector<ast::TemplateParameter> kList = [] {
    std::vector<ast::TemplateParameter> list(1);
    list[0].name = "auto";
    return list;
  }();
  return kList;
}

}  // namespace

// The written type with `found` in the place of `auto`.
QualifiedType Templates::around_auto(const ast::TypeName& type, const QualifiedType& found) {
  QualifiedType made = found;
  if (type.form != ast::TypeForm::Named) {
    const QualifiedType inner = around_auto(*type.inner, found);
    made = {};
    if (type.form == ast::TypeForm::Pointer)
      made.type = types_.pointer_to(inner);
    else if (inner.type->is(TypeKind::Reference))
      made.type = inner.type;
    else if (type.form == ast::TypeForm::RvalueReference && !inner.space)
      made = inner;
    else
      made.type = types_.reference_to(inner);
  }
  made.is_const = made.is_const || type.is_const;
  if (type.space) made.space = type.space;
  return made;
}

QualifiedType Templates::deduce_auto(const QualifiedType& declared, const Value& from, Scope& scope, Location at) {
  if (!declared.is_auto) return declared;
  if (from.type == nullptr || from.braces != nullptr || from.is_null || from.type->is(TypeKind::Void))
    throw Rejected{at, "auto needs a value that has a type: name the type instead"};
  if (declared.function != nullptr)
    return {.type = context_.expressions->pointed_function(declared, from.type, at), .is_const = declared.is_const};
  const ast::TypeName& pattern = *declared.declared;
  QualifiedType actual{.type = from.type};
  if (pattern.form == ast::TypeForm::Reference || pattern.form == ast::TypeForm::RvalueReference) {
    actual.is_const = from.is_const && from.is_place;
    if (from.is_place) actual.space = from.space;
  } else if (from.type->is_array()) {
    actual.type = types_.pointer_to({.type = from.type->inner, .is_const = from.is_const, .space = from.space});
  } else if (from.type->is_vector() && from.type->packed) {
    actual.type = table_.vector(from.type->inner, from.type->count);
  }
  Deduction deduction(auto_parameter());
  if (!match_type(pattern, actual, scope, deduction) || !deduction.found[0])
    throw Rejected{at, base::format("{} does not fit the type that is written around auto", in_quotes(from.type))};
  QualifiedType made = around_auto(pattern, deduction.found[0]->type);
  // const and space of the declaration itself.
  made.is_const = made.is_const || declared.is_const;
  if (declared.space) made.space = declared.space;
  return made;
}

}  // namespace kymo::shader
