// The types of a function for one list of template arguments, and the instance for a call.

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "shader/sema/guards.h"
#include "shader/sema/overloads/overloads.h"
#include "shader/sema/same.h"

namespace kymo::shader {
namespace {

bool signature_has_decltype(const ast::TypeName& type) {
  if (type.form == ast::TypeForm::Decltype) return true;
  for (const ast::NamePart& part : type.name.parts)
    for (const ast::TemplateArgument& argument : part.arguments)
      if (argument.value != nullptr || (argument.type != nullptr && signature_has_decltype(*argument.type)))
        return true;
  return type.inner != nullptr && signature_has_decltype(*type.inner);
}

}  // namespace

const Signature& Overloads::signature(const Symbol& symbol, const TemplateArguments& arguments) {
  Signature*& known = signatures_by_key_[instance_key(&symbol, arguments)];
  if (known != nullptr) return *known;
  known = &signatures_.emplace_back();
  Signature& made = *known;
  made.symbol = &symbol;
  made.declaration = symbol.declaration;
  made.arguments = arguments;
  made.fault = Rejected{symbol.declaration->at, base::format("the types of \"{}\" depend on themselves", symbol.name)};
  try {
    work_out(made);
    made.fault.reset();
  } catch (const Rejected& rejected) {
    made.fault = rejected;
  }
  return made;
}

namespace {

bool is_special_member(const ast::Declaration& declaration) {
  const ast::Declaration* outer = declaration.enclosing_template;
  return outer != nullptr && outer->is_template && outer->template_parameters.empty();
}

}  // namespace

// The definition outside of its struct of a member that has only a declaration inside.
const PlacedDeclaration* Overloads::definition_of(const Symbol& member) {
  if (member.owner == nullptr || member.owner->is_closure) return nullptr;
  const auto outside = lookup_.declared().outside.find(member.owner->declaration);
  if (outside == lookup_.declared().outside.end()) return nullptr;
  const ast::Declaration& inside = *member.declaration;
  const PlacedDeclaration* found = nullptr;
  for (const PlacedDeclaration& placed : outside->second) {
    const ast::Declaration& other = *placed.declaration;
    if (other.name != inside.name || other.parameters.size() != inside.parameters.size() ||
        other.is_const != inside.is_const || other.this_space != inside.this_space)
      continue;
    // template <> void S<int>::f() replaces what the template S has for this one instance.
    if (is_special_member(other)) {
      if (lookup_.scope_of(other.qualified, *placed.scope, other.at) == member.owner->scope) return &placed;
      continue;
    }
    if (inside.body != nullptr) continue;
    bool is_same = true;
    for (size_t i = 0; i < inside.parameters.size(); ++i)
      is_same = is_same && same_type(*inside.parameters[i]->type, *other.parameters[i]->type);
    if (is_same) return &placed;
    if (found == nullptr) found = &placed;  // perhaps with other names of the template parameters
  }
  return found;
}

void Overloads::work_out(Signature& made) {
  const Symbol& symbol = *made.symbol;
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, symbol.declaration->at, "a function's type");
  Scope* around = symbol.scope;
  if (const PlacedDeclaration* placed = definition_of(symbol)) {
    made.declaration = placed->declaration;
    const bool is_outer = placed->declaration->enclosing_template == nullptr && !symbol.declaration->is_template;
    const ast::Declaration* outer = is_outer ? placed->declaration : placed->declaration->enclosing_template;
    if (outer != nullptr && outer->is_template && !symbol.owner->bound.empty())
      around = &templates_.bind(outer->template_parameters, symbol.owner->bound, *around);
  }
  made.scope = symbol.declaration->is_template
                   ? &templates_.bind(made.declaration->template_parameters, made.arguments, *around)
                   : around;
  read_parameters(made);
  if (symbol.declaration->is_template && !made.arguments.empty()) use_specialisation(made);
  read_result(made);
}

void Overloads::read_parameters(Signature& made) {
  const ast::Declaration& declaration = *made.declaration;
  made.parameters.clear();
  const auto add = [&](const ast::Declaration& parameter, const ast::Declaration& defaulted, Scope& scope) {
    Parameter& added = made.parameters.emplace_back();
    added.name = parameter.name;
    added.declaration = &defaulted;
    added.type = types_.resolve(*parameter.type, scope);
    if (added.type.function != nullptr) return;
    if (added.type.class_template != nullptr) throw Types::needs_arguments(added.type, parameter.at);
    if (added.type.is_auto) throw Rejected{parameter.at, "a parameter cannot be auto here"};
    if (added.type.type->is_array()) {
      added.type.type =
          table_.pointer(added.type.type->inner, added.type.space.value_or(Space::Thread), added.type.is_const);
      added.type.is_const = false;
    }
    if (added.type.type->is(TypeKind::Void))
      throw Rejected{parameter.at, base::format("parameter \"{}\" cannot be void", parameter.name)};
  };
  for (size_t i = 0; i < declaration.parameters.size(); ++i) {
    const ast::Declaration& parameter = *declaration.parameters[i];
    if (declaration.parameters.size() == 1 && parameter.name.empty() && parameter.type->form == ast::TypeForm::Named &&
        parameter.type->name.last().name == "void")
      break;
    if (parameter.is_variadic) {
      for (Scope* each : templates_.expansions(nullptr, parameter.type, *made.scope, parameter.at))
        add(parameter, parameter, *each);
      continue;
    }
    // Any of the declarations may have the default.
    const ast::Declaration* defaulted = &parameter;
    const auto look_at = [&](const ast::Declaration& other) {
      if (defaulted->initializer == nullptr && i < other.parameters.size() &&
          other.parameters[i]->initializer != nullptr)
        defaulted = other.parameters[i];
    };
    look_at(*made.symbol->declaration);
    for (const ast::Declaration* other : made.symbol->others) look_at(*other);
    add(parameter, *defaulted, *made.scope);
  }
}

// template <> void f<int>(int): replaces the template for exactly these arguments.
void Overloads::use_specialisation(Signature& made) {
  const auto found = lookup_.declared().specialised.find({made.symbol->scope, made.symbol->name});
  if (found == lookup_.declared().specialised.end()) return;
  for (const PlacedDeclaration& placed : found->second) {
    const ast::Declaration& special = *placed.declaration;
    if (special.parameters.size() != made.parameters.size()) continue;
    Signature attempt;
    attempt.symbol = made.symbol;
    attempt.declaration = &special;
    attempt.arguments = made.arguments;
    attempt.scope = placed.scope;
    bool is_it = true;
    try {
      read_parameters(attempt);
      for (size_t i = 0; i < made.parameters.size() && is_it; ++i)
        is_it = attempt.parameters[i].type.type == made.parameters[i].type.type;
      if (is_it && !special.qualified.parts.empty()) {
        const TemplateArguments given =
            templates_.evaluate_arguments(special.qualified.last().arguments, *placed.scope);
        for (size_t i = 0; i < given.size() && is_it; ++i)
          is_it = i < made.arguments.size() && (given[i].kind == TemplateArgument::Kind::Value
                                                    ? made.arguments[i].kind == given[i].kind &&
                                                          (!given[i].value->type->is_struct() ||
                                                           given[i].value->type == made.arguments[i].value->type) &&
                                                          made.arguments[i].value->bits == given[i].value->bits
                                                    : given[i] == made.arguments[i]);
      }
    } catch (const Rejected&) {
      is_it = false;
    }
    if (!is_it) continue;
    read_result(made);  // of several templates it belongs to the one whose result has a type for these arguments
    const std::optional<QualifiedType> own = std::exchange(made.result, std::nullopt);
    // template <> half f(bool) is f<half>, if only the result says what T is.
    read_result(attempt);
    if (own && attempt.result && own->type != attempt.result->type) continue;
    made.declaration = &special;
    made.scope = placed.scope;
    made.parameters = std::move(attempt.parameters);
    return;
  }
}

void Overloads::read_result(Signature& made) {
  const ast::Declaration& declaration = *made.declaration;
  if (made.symbol->name == kConstructorName) {
    made.result = QualifiedType{.type = made.symbol->owner->type};
    return;
  }
  const ast::TypeName* written = declaration.conversion != nullptr ? declaration.conversion : declaration.type;
  if (written == nullptr) return;
  Scope* scope = made.scope;
  if (signature_has_decltype(*written)) {
    // It may name the parameters.
    scope = &lookup_.make_scope(Scope::Kind::Function, made.scope);
    for (size_t i = 0; i < made.parameters.size(); ++i) {
      const Parameter& parameter = made.parameters[i];
      const Type* type = parameter.type.type;
      if (type == nullptr) continue;
      const bool is_reference = type->is(TypeKind::Reference);
      const Type* held = is_reference ? table_.pointer(type->inner, type->space, type->is_const) : type;
      ir::Variable& variable = context_.module.make_variable(std::string(parameter.name), held);
      Value& value = lookup_.make_value();
      const ir::Expression* place = context_.build(declaration.at).variable(variable);
      value.ir = is_reference ? context_.build(declaration.at).deref(place) : place;
      value.type = is_reference ? type->inner : type;
      value.is_place = true;
      value.is_const = is_reference ? type->is_const : parameter.type.is_const;
      if (is_reference) value.space = type->space;
      if (parameter.name.empty()) continue;
      if (!parameter.declaration->is_variadic) {
        lookup_.make_symbol(Symbol::Kind::Local, parameter.name, *scope).value = &value;
        continue;
      }
      auto& known = scope->symbols[parameter.name];
      (known.empty() ? lookup_.make_symbol(Symbol::Kind::LocalPack, parameter.name, *scope) : *known.front())
          .locals.push_back(&value);
    }
  }
  const QualifiedType result = types_.resolve(*written, *scope);
  if (result.class_template != nullptr) throw Types::needs_arguments(result, written->at);
  if (!result.is_auto) made.result = result;
}

FunctionInstance& Overloads::make_instance(const FunctionInstance& like) {
  ++context_.instances;
  return instances_.emplace_back(like);
}

FunctionInstance& Overloads::instance(const Symbol& function, const TemplateArguments& arguments,
                                      std::span<const Value> given, const Value* object, Location at) {
  const Signature& types = signature(function, arguments);
  if (types.fault) throw *types.fault;
  Class* owner = function.owner;
  const bool has_object = owner != nullptr && !types.declaration->is_static && !function.declaration->is_static &&
                          function.name != kConstructorName;
  const Space this_space = has_object && object != nullptr ? object->space : Space::Thread;

  std::string key = instance_key(&function, arguments);
  std::vector<QualifiedType> adapted(types.parameters.size());
  for (size_t i = 0; i < types.parameters.size(); ++i) {
    if (types.parameters[i].type.function != nullptr) {
      adapted[i].type = context_.expressions->pointed_function(types.parameters[i].type,
                                                               i < given.size() ? given[i].type : nullptr, at);
      key += base::format("|{}:f{}", i, adapted[i].type->id);
      continue;
    }
    adapted[i] = i < given.size() ? types_.adapt(types.parameters[i].type, given[i]) : types.parameters[i].type;
    if (adapted[i].type != types.parameters[i].type.type)
      key += base::format("|{}:{}", i, static_cast<int>(adapted[i].type->space));
  }
  key += base::format("|{}", static_cast<int>(this_space));
  FunctionInstance*& known = instances_by_key_[key];
  if (known != nullptr) return *known;
  context_.check_instances(at);

  FunctionInstance& made = make_instance({});
  made.declaration = types.declaration;
  made.owner = owner;
  made.is_static = owner != nullptr && !has_object;
  made.this_space = this_space;
  made.this_const = has_object && (owner->is_closure ? owner->lambda != nullptr && !owner->lambda->is_mutable
                                                     : function.declaration->is_const);
  made.arguments = arguments;
  made.scope = types.scope;
  made.parameters = types.parameters;
  for (size_t i = 0; i < adapted.size(); ++i) made.parameters[i].type = adapted[i];
  if (types.result) {
    made.result = types.result->type;
    made.result_is_reference = made.result->is(TypeKind::Reference);
  }
  known = &made;
  return made;
}

}  // namespace kymo::shader
