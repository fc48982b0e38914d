// The name of a function as a value, and pointers to functions.
//
// No target has pointers to functions that all devices support. So the name of a function is an object without fields,
// whose type says which function it is, like a lambda without captures. A variable or parameter that is declared as a
// pointer to a function gets the type of the object that it is initialized with: a function with such a parameter has
// one instance for each function that is passed to it. A pointer that would change its function is an error.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

// The candidates of a call by name. `found`: what the name stands for.
OverloadSet Lowering::overload_set(const ast::Name& name, std::span<const Symbol* const> found, Scope& scope,
                                   Location at) {
  const ast::NamePart& part = name.last();
  OverloadSet set;
  set.name = part.name;
  set.at = at;
  set.is_qualified = name.parts.size() > 1 || name.from_global;
  set.has_arguments = part.has_arguments;
  set.allows_builtin = true;
  if (set.is_qualified) {
    // metal::sin and metal::precise::sin are the builtins, and ::sin after "using namespace metal"
    const Scope* in = lookup_.scope_of(name, scope, at);
    set.allows_builtin = in != nullptr && lookup_.uses_metal(*in);
  }
  for (const Symbol* symbol : found) {
    if (symbol->kind != Symbol::Kind::Function) continue;
    // The library only declares the builtins.
    if (symbol->declaration->body == nullptr && symbol->owner == nullptr && is_builtin(part.name)) continue;
    set.candidates.push_back(symbol);
    if (symbol->owner != nullptr) set.is_qualified = true;
  }
  set.is_used = std::none_of(set.candidates.begin(), set.candidates.end(), [&](const Symbol* symbol) {
    const Scope* around = &scope;
    while (around != nullptr && around != symbol->scope) around = around->parent;
    return around != nullptr || symbol->owner != nullptr || symbol->scope == lookup_.metal();
  });
  if (part.has_arguments) set.arguments = templates_.evaluate_arguments(part.arguments, scope);
  return set;
}

Value Lowering::function_object(const ast::Name& name, std::span<const Symbol* const> found, Scope& scope,
                                Location at) {
  OverloadSet set = overload_set(name, found, scope, at);
  for (const Symbol* symbol : set.candidates)
    if (symbol->owner != nullptr && !symbol->declaration->is_static)
      throw Rejected{at, base::format("the member function {} can only be called: use a lambda that calls it",
                                      in_quotes(set.name))};
  std::string key = instance_key(nullptr, set.arguments) + std::string(set.name);
  for (const Symbol* symbol : set.candidates) key += instance_key(symbol, {});
  const Class*& known = function_objects_[key];
  if (known == nullptr) {
    Class& made = make_function_class(base::format("function {}", set.name), scope);
    made.function = &functions_.emplace_back(std::move(set));
    known = &made;
  }
  return rvalue(build(at).construct(known->type, {}), known->type);
}

Class& Lowering::make_function_class(std::string name, Scope& scope) {
  Class& made = types_.make_class();
  made.is_closure = true;
  made.scope = &lookup_.make_scope(Scope::Kind::Class, &scope);
  made.scope->owner = &made;
  made.scope->name = "function";
  made.type = table_.make_struct(std::move(name), &made);
  table_.complete(*made.type, {});
  return made;
}

const ir::Expression* Lowering::function_named(const ast::Expression& expression, Scope& scope) {
  const ast::Expression* named = &expression;
  if (named->kind == ast::ExpressionKind::Unary && named->op == "&") named = named->operands[0];
  if (named->kind != ast::ExpressionKind::Name) return nullptr;
  const std::vector<const Symbol*> found = lookup_.find(named->name, scope, named->at);
  if (found.empty() || found.front()->kind != Symbol::Kind::Function) return nullptr;
  return function_object(named->name, found, scope, named->at).ir;
}

// Whether one of the functions takes these parameters. Functions that only differ in the kind of function that is their
// template argument are told apart by this.
bool Lowering::takes_parameters(const OverloadSet& set, std::span<const QualifiedType> parameters) {
  std::vector<Value> given;
  for (const QualifiedType& type : parameters) {
    if (type.type == nullptr || type.function != nullptr || type.is_auto) return true;  // not known before the call
    given.push_back(typical_argument(type));
  }
  return std::any_of(set.candidates.begin(), set.candidates.end(), [&](const Symbol* symbol) {
    const auto& own = symbol->declaration->parameters;
    const bool is_variadic = !own.empty() && own.back()->is_variadic;
    if (own.size() < given.size() ? !is_variadic
                                  : own.size() > given.size() && own[given.size()]->initializer == nullptr)
      return false;
    if (!symbol->declaration->is_template) return true;
    try {
      TemplateArguments attempt;
      return templates_.deduce(*symbol->declaration, *symbol->scope, set.arguments, given, attempt);
    } catch (const Rejected&) {
      return false;
    }
  });
}

// The type of a pointer to a function after it was initialized with a value of this type.
const Type* Lowering::pointed_function(const QualifiedType& pointer, const Type* given, Location at) {
  const Class* object = given == nullptr ? nullptr : types_.class_of(given);
  const bool is_callable =
      object != nullptr && (object->function != nullptr || !lookup_.find_in("operator()", *object->scope).empty());
  if (!is_callable)
    throw Rejected{at, base::format("a pointer to a function needs a function or a lambda, not {}",
                                    given == nullptr ? std::string("{...}") : in_quotes(given))};
  if (object->function == nullptr || object->has_signature) return given;
  std::vector<QualifiedType> parameters;
  std::string key = instance_key(object, {});
  for (const ast::TypeName* written : pointer.function->parameters) {
    const QualifiedType& type = parameters.emplace_back(types_.resolve(*written, *pointer.function_scope));
    key += base::format("{},", type.type != nullptr ? type.type->id : 0);
  }
  const OverloadSet& functions = *object->function;
  if (!functions.candidates.empty() && !takes_parameters(functions, parameters))
    throw Rejected{at, base::format("no function {} takes the parameters of the pointer", in_quotes(functions.name))};
  const Class*& known = function_objects_[key];
  if (known == nullptr) {
    Class& made = make_function_class(given->name, *object->scope->parent);
    made.function = object->function;
    made.has_signature = true;
    made.function_parameters = std::move(parameters);
    known = &made;
  }
  return known->type;
}

// The arguments are converted to the parameters of the pointer; then they choose one of the functions of that name.
Value Lowering::call_function_object(const Class& object, std::span<const Value> given, Scope& scope, Location at) {
  OverloadSet set = *object.function;
  set.at = at;
  std::vector<Value> converted(given.begin(), given.end());
  if (object.has_signature && object.function_parameters.size() != given.size())
    throw Rejected{at, base::format("the pointer to {} is called with {} arguments, and takes {}", in_quotes(set.name),
                                    given.size(), object.function_parameters.size())};
  for (size_t i = 0; object.has_signature && i < given.size(); ++i) {
    const QualifiedType& wanted = object.function_parameters[i];
    if (wanted.type == nullptr || wanted.type->is(TypeKind::Reference) || wanted.type->is_pointer() ||
        wanted.type->is_array())
      continue;
    converted[i] = rvalue(convert(given[i], wanted, at, base::format("argument {}", i + 1)), wanted.type);
  }
  return call_overloads(set, converted, scope, at);
}

}  // namespace kymo::shader
