// Variables outside of functions: all are constants, computed at their first use.

#include <cmath>

#include "base/text.h"
#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

constexpr std::string_view kFunctionConstant = "function_constant";

}  // namespace

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
  if (known == nullptr) {
    throw Rejected{declaration.at,
                   "the value of " + in_quotes(declaration.name) + " must be known when the shader is translated"};
  }
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

// ---- Function constants --------------------------------------------------------------------------------------------

std::optional<Value> Lowering::function_constant(const ast::Declaration& declaration, Scope& scope, Location at) {
  const ast::Attribute* attribute = declaration.attribute(kFunctionConstant);
  if (attribute == nullptr) return std::nullopt;
  const Type* type = types_.resolve_plain(*declaration.type, scope);
  if (!type->is_scalar()) {
    throw Rejected{declaration.at, "the function constant " + in_quotes(declaration.name) +
                                       " must be a number, and is " + in_quotes(type)};
  }
  const std::optional<double> given = given_constant(declaration, scope);
  ir::Builder& make = build(at);
  if (!given) {
    if (!body_.is_unevaluated && unset_constants_.insert(&declaration).second)
      diagnostics_.warning(declaration.at, "the function constant " + in_quotes(declaration.name) +
                                               " has no value, and is 0 here: give one by its name" +
                                               (attribute->arguments.empty() ? "" : " or its index"));
    Value unset = rvalue(make.zero(type));
    unset.is_const = true;
    return unset;
  }
  if (type->is_integer()) {
    const bool is_large = *given >= 0x1p63;
    const bool is_whole = *given >= -0x1p63 && *given < 0x1p64 && std::trunc(*given) == *given;
    if (!is_whole ||
        !fits(type, is_large ? static_cast<int64_t>(static_cast<uint64_t>(*given)) : static_cast<int64_t>(*given),
              is_large)) {
      throw Rejected{at, base::format("the function constant {} is {}, and cannot be {}", in_quotes(declaration.name),
                                      in_quotes(type), *given)};
    }
  }
  Value value = rvalue(type->is(TypeKind::Bool) ? make.constant_bool(*given != 0)
                       : type->is_floating()    ? make.constant_float(static_cast<float>(*given), type->kind)
                       : *given >= 0x1p63       ? make.constant_uint(static_cast<uint64_t>(*given), type->kind)
                                                : make.constant_int(static_cast<int64_t>(*given), type->kind));
  value.is_const = true;
  return value;
}

std::optional<double> Lowering::given_constant(const ast::Declaration& declaration, Scope& scope) {
  auto found = options_.constants.find(declaration.name);
  if (found == options_.constants.end()) found = options_.constants.find(function_constant_index(declaration, scope));
  if (found == options_.constants.end()) return std::nullopt;
  return found->second;
}

// As a text; empty: it has none.
std::string Lowering::function_constant_index(const ast::Declaration& declaration, Scope& scope) {
  const ast::Attribute* attribute = declaration.attribute(kFunctionConstant);
  if (attribute == nullptr || attribute->arguments.empty()) return "";
  return std::to_string(constant_integer(*attribute->arguments[0], scope, "the index of a function constant"));
}

// A value that no function constant takes is a mistake: a wrong name, or a constant that the source no longer has.
void Lowering::check_given_constants() {
  if (options_.constants.empty()) return;
  std::set<std::string, std::less<>> known;
  std::vector<std::string> names;
  for (const PlacedDeclaration& placed : lookup_.declared().variables) {
    const ast::Declaration& declaration = *placed.declaration;
    if (declaration.attribute(kFunctionConstant) == nullptr) continue;
    const std::string index = function_constant_index(declaration, *placed.scope);
    known.emplace(declaration.name);
    if (!index.empty()) known.insert(index);
    names.push_back(index.empty() ? std::string(declaration.name) : base::format("{} ({})", declaration.name, index));
  }
  for (const auto& [name, value] : options_.constants) {
    if (known.contains(name)) continue;
    diagnostics_.error(
        {.file = context_.user_file},
        base::format("the source has no function constant {}; {}", in_quotes(name),
                     names.empty() ? "it has none at all" : "it has (with the index): " + base::join(names, ", ")));
  }
}

Value Lowering::function_constant_defined(const ast::Expression& call, Scope& scope) {
  const ast::Expression* argument = call.operands.size() == 2 ? call.operands[1] : nullptr;
  if (argument != nullptr && argument->kind == ast::ExpressionKind::Name) {
    for (const Symbol* symbol : lookup_.find(argument->name, scope, argument->at)) {
      if (symbol->kind != Symbol::Kind::Variable || symbol->declaration->attribute(kFunctionConstant) == nullptr)
        continue;
      const bool is_defined = given_constant(*symbol->declaration, *symbol->scope).has_value();
      return rvalue(build(call.at).constant_bool(is_defined));
    }
  }
  throw Rejected{call.at, "is_function_constant_defined takes one function constant, by its name"};
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
