// Calls: the function, its object and its arguments, and the place of its effects; functions as values, and lambdas.

#include <algorithm>
#include <set>

#include "base/text.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

Value Lowering::call(const ast::Expression& expression, Scope& scope) {
  const ast::Expression& callee = *expression.operands[0];
  if (callee.kind == ast::ExpressionKind::Name) return call_named(callee, expression, scope);
  if (callee.kind == ast::ExpressionKind::Member) return call_member(callee, expression, scope);
  Value object = this->expression(callee, scope);
  const size_t since = mark();
  const std::vector<Value> given = arguments(std::span(expression.operands).subspan(1), scope);
  protect_place(object, since);
  return call_value(object, given, scope, expression.at);
}

Value Lowering::call_value(const Value& callee, std::span<const Value> given, Scope& scope, Location at) {
  if (callee.braces != nullptr || !callee.type->is_struct()) {
    throw Rejected{at, callee.braces != nullptr ? "{...} cannot be called"
                                                : "cannot call a value of type " + in_quotes(callee.type)};
  }
  Class* owner = types_.class_of(callee.type);
  if (owner->function != nullptr) return call_function_object(*owner, given, scope, at);
  OverloadSet set{.name = "operator()", .candidates = lookup_.find_in("operator()", *owner->scope), .at = at};
  set.object = object_place(callee, at);
  if (set.candidates.empty()) throw Rejected{at, in_quotes(callee.type) + " has no operator(): it cannot be called"};
  return call_overloads(set, given, scope, at);
}

Value Lowering::object_place(const Value& object, Location at) {
  if (object.is_place && !object.in_words) return object;
  if (object.is_place) return place_at(address(object, at), object.is_const);
  const Value loaded = load(object);
  ir::Variable& kept = local("object", loaded.type, loaded.ir, at);
  Value place = variable_place(kept, at);
  return place;
}

Value Lowering::call_named(const ast::Expression& callee, const ast::Expression& call, Scope& scope) {
  const ast::NamePart& part = callee.name.last();
  const Location at = part.at.line != 0 ? part.at : call.at;
  const auto rest = std::span(call.operands).subspan(1);
  if (part.name == "is_function_constant_defined") return function_constant_defined(call, scope);
  const std::vector<const Symbol*> found = lookup_.find(callee.name, scope, at);
  if (!found.empty() && found.front()->kind != Symbol::Kind::Function) {
    const Symbol& symbol = *found.front();
    const bool is_type = symbol.kind == Symbol::Kind::Type || (symbol.kind == Symbol::Kind::Argument &&
                                                               symbol.argument.kind == TemplateArgument::Kind::Type);
    if (is_type) {
      const std::optional<QualifiedType> type = types_.try_type(callee, scope);
      if (!type || type->type == nullptr) {
        throw Rejected{
            at, in_quotes(part.name) + " is a template: write its arguments, " + std::string(part.name) + "<...>"};
      }
      const std::vector<Value> given = arguments(rest, scope);
      return given.size() == 1 ? cast_to(*type, given[0], "", at)
                               : rvalue(construct(type->type, given, at), type->type);
    }
    Value object = name(callee, scope);
    const std::vector<Value> given = arguments(rest, scope);
    return call_value(object, given, scope, at);
  }
  OverloadSet set = overload_set(callee.name, found, scope, at);
  if (part.conversion != nullptr) keep_conversions(set, *part.conversion, scope);
  const bool has_member =
      std::ranges::any_of(set.candidates, [](const Symbol* symbol) { return symbol->owner != nullptr; });
  if (has_member && body_.self) set.object = body_.self;
  const std::vector<Value> given = arguments(rest, scope);
  return call_overloads(set, given, scope, at);
}

Value Lowering::call_member(const ast::Expression& callee, const ast::Expression& call, Scope& scope) {
  const ast::NamePart& part = callee.name.last();
  const Location at = part.at.line != 0 ? part.at : call.at;
  Value object = expression(*callee.operands[0], scope);
  if (object.braces != nullptr) throw Rejected{at, "{...} has no members"};
  if (callee.flag) {
    if (object.type->is_struct()) {
      Value operands[] = {object};
      std::optional<Value> arrow = overloaded("->", operands, scope, at);
      if (!arrow) throw Rejected{at, in_quotes(object.type) + " is not a pointer: use . instead of ->"};
      object = *arrow;
    }
    object = pointee(object, at);
  } else if (object.type->is_pointer()) {
    throw Rejected{at, in_quotes(object.type) + " is a pointer: use -> instead of ."};
  }
  Class* owner = types_.class_of(object.type);
  if (owner == nullptr) {
    throw Rejected{at, in_quotes(object.type) + " has no member functions: " + in_quotes(part.name) + " is called"};
  }
  Scope* in = owner->scope;
  if (callee.name.parts.size() > 1) {  // x.Base::f()
    Scope* named = lookup_.scope_of(callee.name, *owner->scope, at);
    if (named != nullptr && named->owner != nullptr) in = named;
  }
  OverloadSet set{.name = part.name, .has_arguments = part.has_arguments, .at = at, .is_qualified = true};
  const Symbol* other = nullptr;
  for (const Symbol* symbol : lookup_.find_in(part.name, *in)) {
    if (symbol->kind == Symbol::Kind::Function) {
      set.candidates.push_back(symbol);
    } else {
      other = symbol;
    }
  }
  if (set.candidates.empty()) {
    if (other == nullptr)
      throw Rejected{at, "there is no member " + in_quotes(part.name) + " in " + in_quotes(object.type)};
    std::optional<Value> field = field_of(object, part.name, at);
    Value target = field ? *field : variable(*other, at);
    const size_t since = mark();
    const std::vector<Value> given = arguments(std::span(call.operands).subspan(1), scope);
    protect_place(target, since);
    return call_value(target, given, scope, at);
  }
  object = object_place(object, at);
  if (part.has_arguments) set.arguments = templates_.evaluate_arguments(part.arguments, scope);
  if (part.conversion != nullptr) keep_conversions(set, *part.conversion, scope);
  const size_t since = mark();
  const std::vector<Value> given = arguments(std::span(call.operands).subspan(1), scope);
  protect_place(object, since);
  set.object = object;
  return call_overloads(set, given, scope, at);
}

// x.operator T(): T chooses one of the operators of x.
void Lowering::keep_conversions(OverloadSet& set, const ast::TypeName& to, Scope& scope) {
  const Type* wanted = types_.resolve_plain(to, scope);
  overloads_.keep_conversions(set, wanted);
  if (set.candidates.empty())
    throw Rejected{set.at, "there is no operator that converts to " + in_quotes(wanted) + " here"};
}

Value Lowering::call_overloads(OverloadSet& set, std::span<const Value> given, Scope& scope, Location at) {
  const bool may_be_builtin = set.allows_builtin && !set.object && is_builtin(set.name);
  if (!set.is_qualified && !set.object) {
    lookup_.add_by_arguments(set, given);
    if (may_be_builtin) {
      std::erase_if(set.candidates, [](const Symbol* symbol) { return symbol->declaration->body == nullptr; });
    }
  }
  if (may_be_builtin) {
    if (!set.candidates.empty()) {
      if (std::optional<Chosen> chosen = overloads_.try_choose(set, given)) return call(*chosen, set.object, given, at);
    }
    if (std::optional<Value> found = builtin(set.name, set.arguments, given, at)) return *found;
  }
  if (set.candidates.empty())
    throw Rejected{at, "there is no function " + in_quotes(set.name) + " here" + lookup_.suggestion(set.name, scope)};
  return call(overloads_.choose(set, given), set.object, given, at);
}

Value Lowering::call_library(std::string_view name, std::span<const Value> given, Location at) {
  OverloadSet set{.name = name, .at = at, .is_qualified = true};
  if (lookup_.metal() != nullptr) {
    for (const Symbol* symbol : lookup_.find_in(name, *lookup_.metal())) {
      if (symbol->kind == Symbol::Kind::Function) set.candidates.push_back(symbol);
    }
  }
  if (set.candidates.empty()) {
    throw Rejected{at, "the standard library has no function " + in_quotes(name) + " that takes " + types_of(given)};
  }
  return call(overloads_.choose(set, given), std::nullopt, given, at);
}

Value Lowering::call(const Chosen& chosen, const std::optional<Value>& object, std::span<const Value> given,
                     Location at) {
  FunctionInstance& instance = *chosen.instance;
  const ast::Declaration& declaration = *instance.declaration;
  if (declaration.is_kernel)
    throw Rejected{at, "the kernel " + in_quotes(declaration.name) + " cannot be called: only launched"};
  if (declaration.is_deleted) throw Rejected{at, "the function " + in_quotes(declaration.name) + " is deleted"};
  if (body_.is_unevaluated && instance.result != nullptr) return unevaluated(instance.result, at);

  const bool is_constructor =
      instance.owner != nullptr && declaration.type == nullptr && declaration.conversion == nullptr;
  std::vector<const ir::Expression*> operands;
  const auto add = [&](auto&& work) {
    const size_t since = mark();
    const ir::Expression* operand = work();
    settle_all(operands, since);
    operands.push_back(operand);
  };
  if (has_object(instance)) {
    if (!object) {
      throw Rejected{at, "the member function " + in_quotes(declaration.name) + " needs an object of " +
                             in_quotes(instance.owner->type)};
    }
    add([&] {
      const ir::Expression* pointer = address(base_of(*object, *instance.owner, at), at);
      return build(at).pointer_cast(table_.pointer(instance.owner->type, instance.this_space, instance.this_const),
                                    pointer);
    });
  }
  const auto what = [&](size_t i) {
    return "argument " + std::to_string(i + 1) + " of " +
           in_quotes(is_constructor ? instance.owner->type->name : declaration.name);
  };
  for (size_t i = 0; i < given.size() && i < instance.parameters.size(); ++i) {
    add([&] { return convert(given[i], instance.parameters[i].type, at, what(i)); });
  }
  for (const ast::Declaration* parameter : chosen.defaults) {
    const size_t i = operands.size() - (has_object(instance) ? 1 : 0);
    if (i >= instance.parameters.size()) break;
    const Restore<std::optional<Value>> self(body_.self);
    add([&] { return initialize(instance.parameters[i].type, *parameter, *instance.scope); });
  }
  need(instance, at);
  const Value result = finish_call(*instance.function, std::move(operands), at);
  if (!instance.result_is_reference) return result;
  return place_at(result.ir, instance.result->is_const);
}

bool Lowering::has_object(const FunctionInstance& instance) {
  if (instance.owner == nullptr || instance.declaration->is_static || instance.is_static) return false;
  const bool is_constructor = instance.declaration->type == nullptr && instance.declaration->conversion == nullptr;
  return instance.owner->is_closure || !is_constructor;
}

// A value of the type that is never used.
Value Lowering::unevaluated(const Type* type, Location at) {
  if (type->is(TypeKind::Reference)) {
    return place_at(build(at).null(table_.pointer(type->inner, type->space, type->is_const)), type->is_const);
  }
  if (!type->is(TypeKind::Void)) return rvalue(build(at).zero(plain(type)), plain(type));
  Value nothing;
  nothing.type = type;
  return nothing;
}

// numeric_limits<float>::max() and the like: one expression of constants.
const ir::Expression* Lowering::folded_call(const ir::Expression* made) {
  const ir::Function& function = *made->function;
  if (!function.is_defined || function.body.size() != 1 || function.body[0]->kind != ir::StatementKind::Return ||
      !function.result->is_scalar()) {
    return made;
  }
  const ir::Expression* returned = function.body[0]->value;
  return returned != nullptr && returned->kind == ir::ExpressionKind::Constant ? returned : made;
}

// A call with effects becomes a statement, its result a temporary.
Value Lowering::finish_call(const ir::Function& function, std::vector<const ir::Expression*> operands, Location at) {
  const bool has_effects = with_effects_.contains(&function);
  const bool is_recursive = body_.instance != nullptr && body_.instance->function == &function;
  body_.has_effects = body_.has_effects || (has_effects && !is_recursive);
  const ir::Expression* made = build(at).call(function, std::move(operands));
  Value value;
  value.type = function.result;
  if (function.result->is(TypeKind::Void)) {
    emit(build(at).evaluate(made));
    return value;
  }
  value.ir = has_effects ? settle(made) : folded_call(made);
  return value;
}

// ---- Functions as values --------------------------------------------------------------------------------------------

// The name of a function as a value, and pointers to functions.
//
// No target has pointers to functions that all devices support. So the name of a function is an object without fields,
// whose type says which function it is, like a lambda without captures. A variable or parameter that is declared as a
// pointer to a function gets the type of the object that it is initialized with: a function with such a parameter has
// one instance for each function that is passed to it. A pointer that would change its function is an error.

// The candidates of a call by name. `found`: what the name stands for.
OverloadSet Lowering::overload_set(const ast::Name& name, std::span<const Symbol* const> found, Scope& scope,
                                   Location at) {
  const ast::NamePart& part = name.last();
  OverloadSet set{.name = part.name,
                  .has_arguments = part.has_arguments,
                  .at = at,
                  .is_qualified = name.parts.size() > 1 || name.from_global,
                  .allows_builtin = true};
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
  set.is_used = std::ranges::none_of(set.candidates, [&](const Symbol* symbol) {
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
  return std::ranges::any_of(set.candidates, [&](const Symbol* symbol) {
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

// ---- Lambdas --------------------------------------------------------------------------------------------------------

// Lambdas: a struct with the captured values, with an operator(). A copy is a member, a reference is a pointer to the
// variable.

namespace {

// The names in a part of a tree, independent of their meaning: what a lambda may capture. The first part of every name
// in values; "this" too. Includes names that the part itself declares.
class NamesIn {
 public:
  explicit NamesIn(const ast::Statement& statement) { add(&statement); }
  const std::set<std::string_view>& sorted() const { return names_; }

 private:
  void add(const ast::Name& name) {
    for (const ast::NamePart& part : name.parts) {
      for (const ast::TemplateArgument& argument : part.arguments) {
        add(argument.value);
        add(argument.type);
      }
    }
  }
  void add(const ast::TypeName* type) {
    for (; type != nullptr; type = type->inner) {
      add(type->expression);
      add(type->name);
    }
  }
  void add(const ast::Declaration& declaration) {
    add(declaration.type);
    add(declaration.initializer);
    for (const ast::Expression* argument : declaration.direct_arguments) add(argument);
    for (const ast::Declaration* parameter : declaration.parameters) add(*parameter);
    add(declaration.body);
  }
  void add(const ast::Expression* expression) {
    if (expression == nullptr) return;
    if (expression->kind == ast::ExpressionKind::Name && !expression->name.from_global &&
        expression->name.parts.size() == 1) {
      names_.insert(expression->name.parts[0].name);
    }
    add(expression->name);
    add(expression->type);
    for (const ast::Expression* operand : expression->operands) add(operand);
    if (expression->lambda == nullptr) return;
    for (const ast::Capture& capture : expression->lambda->captures) {
      if (capture.value == nullptr) names_.insert(capture.name);
      add(capture.value);
    }
    if (expression->lambda->function != nullptr) add(*expression->lambda->function);
  }
  void add(const ast::Statement* statement) {
    if (statement == nullptr) return;
    for (const ast::Statement* each : statement->statements) add(each);
    for (const ast::Declaration* declaration : statement->declarations) add(*declaration);
    for (const ast::Expression* each : {statement->expression, statement->step}) add(each);
    for (const ast::Statement* each : {statement->init, statement->body, statement->otherwise}) add(each);
  }

  std::set<std::string_view> names_;
};

struct LambdaCapture {
  std::string_view name;
  Value value;
  bool by_reference = false;
  bool is_pack = false;
};

bool lambdas_is_constant(const Value& value) { return !value.is_place || value.space == Space::Program; }

}  // namespace

Value Lowering::lambda(const ast::Expression& expression, Scope& scope) {
  const ast::Lambda& lambda = *expression.lambda;
  const Location at = expression.at;
  std::vector<LambdaCapture> captures;
  std::vector<std::string_view> packs;
  const auto add = [&](std::string_view name, const Value& value, bool by_reference) {
    const bool is_known = std::ranges::any_of(captures, [&](const auto& known) { return known.name == name; });
    if (!is_known) captures.push_back({name, value, by_reference});
  };
  const auto add_this = [&](bool by_reference, bool is_wanted) {
    if (body_.self) return add("this", *body_.self, by_reference);
    if (is_wanted) throw Rejected{at, "there is no \"this\" here to capture"};
  };
  const auto add_named = [&](std::string_view name, bool by_reference, bool is_wanted, Location where) {
    if (name == "this") return add_this(by_reference || !is_wanted, is_wanted);
    const std::vector<const Symbol*> found = lookup_.find(name, scope);
    if (found.empty()) {
      if (is_wanted) throw Rejected{where, "there is no name " + in_quotes(name) + " here to capture"};
      return;
    }
    const Symbol& symbol = *found.front();
    if (symbol.kind == Symbol::Kind::LocalPack) {
      const bool is_known = std::ranges::any_of(packs, [&](std::string_view known) { return known == name; });
      if (is_known) return;
      packs.push_back(name);
      for (const Value* element : symbol.locals) captures.push_back({name, *element, by_reference, true});
      return;
    }
    if (symbol.kind == Symbol::Kind::Local && symbol.value != nullptr) {
      if (!lambdas_is_constant(*symbol.value) &&
          (symbol.value->home == nullptr || symbol.value->home == body_.instance)) {
        add(name, *symbol.value, by_reference);
      }
      return;
    }
    if (symbol.owner != nullptr && !is_wanted) return add_this(true, false);  // a member without an object
    if (is_wanted)
      throw Rejected{where, in_quotes(name) + " is not a variable of the enclosing function: it needs no capture"};
  };
  for (const ast::Capture& capture : lambda.captures) {
    if (capture.value == nullptr) {
      add_named(capture.name, capture.by_reference, true, capture.at);
      continue;
    }
    const Value value = this->expression(*capture.value, scope);
    if (value.braces != nullptr || is_void(value)) throw Rejected{capture.at, "a capture needs a value"};
    add(capture.name, value, capture.by_reference);
  }
  if (lambda.capture_default != ast::CaptureDefault::None && lambda.function->body != nullptr) {
    const NamesIn names(*lambda.function->body);
    for (const std::string_view name : names.sorted())
      add_named(name, lambda.capture_default == ast::CaptureDefault::Reference, false, at);
  }

  Class& made = types_.make_class();
  made.declaration = lambda.function;
  made.is_closure = true;
  made.lambda = &lambda;
  made.scope = &lookup_.make_scope(Scope::Kind::Class, &scope);
  made.scope->owner = &made;
  made.scope->name = "lambda";
  made.type = table_.make_struct("lambda", &made);
  std::vector<Field> fields;
  std::vector<const ir::Expression*> values;
  for (LambdaCapture& capture : captures) {
    Field field;
    field.name = std::string(capture.name) + (capture.is_pack ? "_" + std::to_string(fields.size()) : "");
    // The arrays of a group exist once.
    const bool by_reference = capture.by_reference || (capture.value.type->is_array() && capture.value.is_place &&
                                                       capture.value.space == Space::Threadgroup);
    if (by_reference && capture.value.is_place) {
      const ir::Expression* pointer = address(capture.value, at);
      field.type = pointer->type;
      values.push_back(pointer);
    } else {
      const ir::Expression* copy = copied(capture.value, at);
      field.type = copy->type;
      values.push_back(copy);
    }
    made.captures.push_back({capture.name, by_reference && capture.value.is_place, capture.is_pack});
    fields.push_back(std::move(field));
  }
  made.captured_packs = std::move(packs);
  table_.complete(*made.type, std::move(fields));
  Symbol& call = lookup_.make_symbol(Symbol::Kind::Function, "operator()", *made.scope);
  call.declaration = lambda.function;
  call.owner = &made;
  return rvalue(build(at).construct(made.type, std::move(values)), made.type);
}

void Lowering::bind_captures(const FunctionInstance& instance, Scope& scope) {
  const Class& closure = *instance.owner;
  const Value object = *body_.self;
  body_.self.reset();
  const Location at = instance.declaration->at;
  for (const std::string_view pack : closure.captured_packs) {
    if (scope.symbols.find(pack) == scope.symbols.end()) lookup_.make_symbol(Symbol::Kind::LocalPack, pack, scope);
  }
  for (uint32_t i = 0; i < closure.captures.size(); ++i) {
    const Class::Captured& captured = closure.captures[i];
    Value value = object;
    value.ir = build(at).member(object.ir, i);
    value.type = value.ir->type;
    value.is_const = !closure.lambda->is_mutable;
    value.home = &instance;
    if (captured.by_reference) value = place_at(value.ir, value.type->is_const);
    if (captured.name == "this") {
      body_.self = value;
      continue;
    }
    const auto known = scope.symbols.find(captured.name);
    if (known == scope.symbols.end()) {
      make_local(captured.name, value, scope);
    } else if (captured.is_pack && known->second.front()->kind == Symbol::Kind::LocalPack) {
      known->second.front()->locals.push_back(&lookup_.make_value(value));
      known->second.front()->locals.back()->home = &instance;
    }  // else a parameter hides it
  }
}

}  // namespace kymo::shader
