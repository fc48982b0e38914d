// Deduces template arguments from the arguments of a call.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/templates/templates.h"

namespace kymo::shader {
namespace {

using ArgumentKind = TemplateArgument::Kind;
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
    return std::any_of(expression.operands.begin(), expression.operands.end(),
                       [&](const ast::Expression* operand) { return in(*operand); });
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

}  // namespace kymo::shader
