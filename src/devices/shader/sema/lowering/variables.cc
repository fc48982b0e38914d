// Variables outside of functions: all are constants, computed at their first use.

#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

Value Lowering::variable(const Symbol& symbol, Location at) {
  const ast::Declaration* declaration = symbol.declaration;
  // A static member without a value may have one outside of the struct.
  if (symbol.owner != nullptr && declaration->initializer == nullptr) {
    const auto outside = lookup_.declared().outside.find(symbol.owner->declaration);
    if (outside != lookup_.declared().outside.end())
      for (const PlacedDeclaration& placed : outside->second)
        if (placed.declaration->name == symbol.name && placed.declaration->kind == ast::DeclarationKind::Variable &&
            placed.declaration->initializer != nullptr)
          declaration = placed.declaration;
  }
  return lower_variable(*declaration, symbol.owner != nullptr ? *symbol.owner->scope : *symbol.scope, at);
}

Value Lowering::lower_variable(const ast::Declaration& declaration, Scope& scope, Location at) {
  auto& known = variables_[&declaration];
  if (const auto found = known.find(&scope); found != known.end()) return found->second;
  if (std::optional<Value> given = function_constant(declaration, scope, at)) return *given;
  if (!open_variables_.emplace(&declaration, &scope).second) {
    throw Rejected{at, "the value of " + in_quotes(declaration.name) + " depends on itself"};
  }
  struct Done {
    Lowering& lowering;
    std::pair<const ast::Declaration*, const Scope*> key;
    ~Done() { lowering.open_variables_.erase(key); }
  } done{*this, {&declaration, &scope}};

  const Restore<Body> body(body_);
  const Restore<uint32_t> depth(expression_depth_);
  const DepthGuard guard(call_depth_, 200, at, "the value of the constant");
  ir::Block statements;
  body_ = Body();
  body_.block = &statements;
  expression_depth_ = 0;
  const Value value = constant_variable(declaration, scope);
  variables_[&declaration][&scope] = value;
  return value;
}

Value Lowering::constant_variable(const ast::Declaration& declaration, Scope& scope) {
  QualifiedType type = types_.resolve(*declaration.type, scope);
  if (type.space && *type.space != Space::Constant) {
    throw Rejected{declaration.at, "the variable " + in_quotes(declaration.name) +
                                       " is outside of functions: only constant ones may be there"};
  }
  if (!type.space && !declaration.is_constexpr && !type.is_const &&
      !(type.type != nullptr && type.type->is_pointer())) {
    throw Rejected{declaration.at, "the variable " + in_quotes(declaration.name) +
                                       " is outside of functions: write constant before it"};
  }
  const bool may_construct = type.type != nullptr && type.type->is_struct();
  if (declaration.initializer == nullptr && declaration.direct_arguments.empty() && !declaration.direct &&
      !may_construct) {
    throw Rejected{declaration.at, "the constant " + in_quotes(declaration.name) + " needs a value"};
  }
  const ir::Expression* value = nullptr;
  if (type.is_auto) {
    const Value from = expression(*declaration.initializer, scope);
    type = templates_.deduce_auto(type, from, scope, declaration.at);
    value = convert(from, type, declaration.at, "the value of " + in_quotes(declaration.name));
  } else {
    type.type = sized(type.type, declaration, scope);
    if (type.type->is_pointer()) {
      const Value from = expression(*declaration.initializer, scope);
      type = types_.adapt(type, decayed(from));
      value = convert(from, type, declaration.at, "the value of " + in_quotes(declaration.name));
    } else {
      value = initialize(type, declaration, scope);
    }
  }
  if (type.type->is_pointer()) {
    // A pointer to a table or a text of the program.
    if (!body_.block->empty() || !is_settled(*value)) {
      throw Rejected{declaration.at,
                     "the value of " + in_quotes(declaration.name) + " must be known when the shader is translated"};
    }
    return rvalue(value, type.type);
  }
  if (value == nullptr)
    throw Rejected{declaration.at, "the constant " + in_quotes(declaration.name) + " needs a value"};
  const ir::Expression* known = evaluated(value, *body_.block);
  if (known == nullptr) throw not_constant("the value of " + in_quotes(declaration.name), value, declaration.at);
  return constant_value(declaration.name, known);
}

// Numbers become constants in the code, tables and structs are read from Program memory.
Value Lowering::constant_value(std::string_view name, const ir::Expression* known) {
  Value value = rvalue(known);
  value.is_const = true;
  if (known->kind == ir::ExpressionKind::Zero && known->type->is_scalar())
    value.ir = build(known->at).constant(known->type, 0);
  if (known->type->is_number()) return value;
  ir::Variable& made = module_.make_variable(std::string(name), known->type, Space::Program);
  made.value = known;
  module_.constants.push_back(&made);
  value.ir = build(known->at).variable(made);
  value.is_place = true;
  value.space = Space::Program;
  return value;
}

Value Lowering::variable_template(const Symbol& variable, const TemplateArguments& given, Location at) {
  Scope* bound = nullptr;
  const TemplateArguments arguments =
      templates_.complete_arguments(*variable.declaration, *variable.scope, given, at, bound);
  std::string key = instance_key(&variable, arguments);
  if (const auto known = variable_instances_.find(key); known != variable_instances_.end()) return known->second;
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, at, "a variable template");
  const ast::Declaration* declaration = templates_.specialisation_of(variable, arguments, bound, at);
  const Value value = lower_variable(*declaration, *bound, at);
  variable_instances_.emplace(std::move(key), value);
  return value;
}

}  // namespace kymo::shader
