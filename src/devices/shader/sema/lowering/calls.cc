// Calls: the function, its object and its arguments, and the place of its effects.

#include <algorithm>

#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

std::string calls_types(std::span<const Value> given) {
  std::string text = "(";
  for (const Value& value : given) {
    if (text.size() > 1) text += ", ";
    text += value.type != nullptr ? TypeTable::name(value.type) : "{...}";
  }
  return text + ")";
}

}  // namespace

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
  OverloadSet set;
  set.name = "operator()";
  set.candidates = lookup_.find_in("operator()", *owner->scope);
  set.object = object_place(callee, at);
  set.at = at;
  if (set.candidates.empty()) throw Rejected{at, in_quotes(callee.type) + " has no operator(): it cannot be called"};
  return call_overloads(set, given, scope, at);
}

Value Lowering::object_place(const Value& object, Location at) {
  if (object.is_place && object.viewed == nullptr) return object;
  if (object.is_place && object.bits == nullptr) return place_at(address(object, at), object.is_const);
  const Value loaded = load(object);
  ir::Variable& kept = local("object", loaded.type, loaded.ir, at);
  Value place = rvalue(build(at).variable(kept), loaded.type);
  place.is_place = true;
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
  const bool has_member = std::any_of(set.candidates.begin(), set.candidates.end(),
                                      [](const Symbol* symbol) { return symbol->owner != nullptr; });
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
  OverloadSet set;
  set.name = part.name;
  set.at = at;
  set.is_qualified = true;
  set.has_arguments = part.has_arguments;
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

Value Lowering::call_overloads(OverloadSet& set, std::span<const Value> given, Scope&, Location at) {
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
  if (set.candidates.empty()) throw Rejected{at, "there is no function " + in_quotes(set.name) + " here"};
  return call(overloads_.choose(set, given), set.object, given, at);
}

Value Lowering::call_library(std::string_view name, std::span<const Value> given, Location at) {
  OverloadSet set;
  set.name = name;
  set.at = at;
  set.is_qualified = true;
  if (lookup_.metal() != nullptr) {
    for (const Symbol* symbol : lookup_.find_in(name, *lookup_.metal())) {
      if (symbol->kind == Symbol::Kind::Function) set.candidates.push_back(symbol);
    }
  }
  if (set.candidates.empty()) {
    throw Rejected{at, "the standard library has no function " + in_quotes(name) + " that takes " + calls_types(given)};
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

}  // namespace kymo::shader
