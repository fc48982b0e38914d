// Variables: declarations in functions, variables outside of functions, and function constants.

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "shader/ir/evaluate.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

void Lowering::declare_local(const ast::Declaration& declaration, Scope& scope) {
  using Kind = ast::DeclarationKind;
  switch (declaration.kind) {
    case Kind::Variable:
      return declare_variable_local(declaration, scope);
    case Kind::Structured:
      return declare_bindings(declaration, scope);
    case Kind::StaticAssert:
      return types_.check_assert(declaration, scope);
    case Kind::Function:
      throw Rejected{declaration.at,
                     "the function " + in_quotes(declaration.name) + " is declared inside another: use a lambda"};
    default:
      return lookup_.declare(declaration, scope, nullptr);
  }
}

void Lowering::declare_variable_local(const ast::Declaration& declaration, Scope& scope) {
  const Location at = declaration.at;
  QualifiedType type = types_.resolve(*declaration.type, scope);
  const std::string what = "the value of " + in_quotes(declaration.name);
  if (type.space && *type.space == Space::Threadgroup && !type.is_auto && !type.type->is_pointer() &&
      !type.type->is(TypeKind::Reference)) {
    return declare_group_memory(declaration, type, scope);
  }
  if (type.class_template != nullptr) {
    if (declaration.initializer == nullptr) throw Types::needs_arguments(type, at);
    const bool is_copy = declaration.initializer->kind != ast::ExpressionKind::Braces && !declaration.direct;
    const auto values = is_copy ? std::span(&declaration.initializer, 1) : std::span(declaration.initializer->operands);
    const QualifiedType deduced = deduce_class(*type.class_template, values_of(values, scope), at);
    type.type = deduced.type;
    type.is_auto = false;
  }
  if (type.is_auto || type.type->is(TypeKind::Reference)) {
    const ast::Expression* initializer = declaration.initializer;
    if (initializer == nullptr && declaration.direct_arguments.size() == 1)
      initializer = declaration.direct_arguments[0];
    if (initializer == nullptr) {
      throw Rejected{at, type.is_auto
                             ? "auto needs a value: " + in_quotes(declaration.name) + " has none"
                             : "the reference " + in_quotes(declaration.name) + " needs something to refer to"};
    }
    const bool is_reference =
        declaration.type->form == ast::TypeForm::Reference || declaration.type->form == ast::TypeForm::RvalueReference;
    const bool as_place = is_reference && initializer->kind == ast::ExpressionKind::Conditional &&
                          !(declaration.type->inner != nullptr && declaration.type->inner->is_const);
    Value value = as_place ? conditional_place(*initializer, scope) : expression(*initializer, scope);
    if (is_void(value)) throw Rejected{at, what + " is void"};
    return declare_from(declaration, type, value, scope);
  }
  if (type.type->is(TypeKind::Void))
    throw Rejected{at, "the variable " + in_quotes(declaration.name) + " cannot be void"};
  if (type.space && *type.space != Space::Thread && !type.type->is_pointer()) {
    const bool is_constant =
        *type.space == Space::Constant && (declaration.is_constexpr || declaration.is_static || type.is_const);
    if (!is_constant) {
      throw Rejected{at, "the variable " + in_quotes(declaration.name) +
                             " is declared in a function: it cannot be in " + std::string(space_name(*type.space)) +
                             " memory"};
    }
  }
  type.type = sized(type.type, declaration, scope);
  if (type.type->is_pointer() && declaration.initializer != nullptr &&
      declaration.initializer->kind != ast::ExpressionKind::Braces) {
    const Value value = decayed(expression(*declaration.initializer, scope));
    if (is_void(value)) throw Rejected{at, what + " is void"};
    return declare_from(declaration, types_.adapt(type, value), value, scope);
  }
  if (declaration.is_static && !declaration.is_constexpr && !type.is_const && type.space != Space::Constant) {
    throw Rejected{at, "the variable " + in_quotes(declaration.name) + " is static: only constants may be"};
  }
  if (declaration.is_constexpr || declaration.is_static || (type.is_const && type.type->is_scalar())) {
    ir::Block statements;
    const ir::Expression* value = nullptr;
    {
      const Into into(*this, statements);
      value = initialize(type, declaration, scope);
    }
    const ir::Expression* known = value == nullptr ? nullptr : evaluated(value, statements);
    if (known != nullptr && (statements.empty() || declaration.is_constexpr || declaration.is_static)) {
      make_local(declaration.name, constant_value(declaration.name, known), scope);
      return;
    }
    if (declaration.is_constexpr || declaration.is_static) throw not_constant(what, value, at);
    if (value == nullptr) throw Rejected{at, "the constant " + in_quotes(declaration.name) + " needs a value"};
    body_.block->insert(body_.block->end(), statements.begin(), statements.end());
    return declare_value(declaration, type, value, scope);
  }
  const ir::Expression* value = initialize(type, declaration, scope);
  if (value == nullptr && type.is_const && (type.type->is_number() || type.type->is_pointer())) {
    throw Rejected{at, "the constant " + in_quotes(declaration.name) + " needs a value"};
  }
  declare_value(declaration, type, value, scope);
}

void Lowering::declare_value(const ast::Declaration& declaration, const QualifiedType& type,
                             const ir::Expression* value, Scope& scope) {
  const Type* held = plain(type.type);
  const Type* inner = held;
  while (inner->is_array()) inner = inner->inner;
  if (inner->is(TypeKind::Atomic)) {
    throw Rejected{declaration.at, "an atomic must be in device or threadgroup memory: " + in_quotes(declaration.name) +
                                       " is a variable of a function"};
  }
  ir::Variable& made = local(declaration.name, held, value, declaration.at);
  take_result(made);
  Value place = variable_place(made, declaration.at);
  place.is_const = type.is_const;
  if (type.is_const && !has_mutable_members(held)) settled_.insert(&made);
  make_local(declaration.name, place, scope);
}

// T x = f(): the temporary with the result becomes x itself.
void Lowering::take_result(const ir::Variable& variable) {
  ir::Block& block = *body_.block;
  if (block.size() < 2) return;
  const ir::Statement& kept = *block[block.size() - 2];
  const ir::Expression* value = block.back()->value;
  if (value == nullptr || value->kind != ir::ExpressionKind::Variable || kept.kind != ir::StatementKind::Declare ||
      kept.variable != value->variable || kept.value == nullptr || kept.variable->type != variable.type ||
      (kept.value->kind != ir::ExpressionKind::Call && kept.value->kind != ir::ExpressionKind::Intrinsic) ||
      !settled_.contains(kept.variable)) {
    return;
  }
  block.back()->value = kept.value;
  block.erase(block.end() - 2);
}

// From a value that is lowered already: auto, references, pointers.
void Lowering::declare_from(const ast::Declaration& declaration, QualifiedType type, const Value& value, Scope& scope) {
  if (type.is_auto) type = templates_.deduce_auto(type, value, scope, declaration.at);
  if (type.type->is(TypeKind::Reference))
    return declare_reference(declaration, types_.adapt(type, value), value, scope);
  const std::string what = "the value of " + in_quotes(declaration.name);
  const ir::Expression* converted = convert(value, type, declaration.at, what);
  if (declaration.is_constexpr ||
      (type.is_const && type.type->is_scalar() && converted->kind == ir::ExpressionKind::Constant)) {
    const ir::Expression* known = evaluated(converted, {});
    if (known == nullptr && declaration.is_constexpr && !type.type->is_pointer() &&
        !(types_.class_of(type.type) && types_.class_of(type.type)->is_closure)) {
      throw not_constant(what, converted, declaration.at);
    }
    if (known != nullptr && !(types_.class_of(type.type) && types_.class_of(type.type)->is_closure)) {
      make_local(declaration.name, constant_value(declaration.name, known), scope);
      return;
    }
  }
  declare_value(declaration, type, converted, scope);
}

// A reference is another name for a place: its indices and pointers are fixed here, no pointer is made.
void Lowering::declare_reference(const ast::Declaration& declaration, const QualifiedType& type, const Value& from,
                                 Scope& scope) {
  const Type* wanted = type.type;
  Value value = from;
  if (value.is_place && value.type != wanted->inner && value.type != nullptr && value.type->is_struct() &&
      wanted->inner->is_struct()) {
    Class* base = types_.class_of(wanted->inner);
    Class* own = types_.class_of(value.type);
    if (base != nullptr && own != nullptr && types_.is_derived(*own, *base))
      value = base_of(value, *base, declaration.at);
  }
  if (value.in_words && value.is_place && value.type == wanted->inner)
    value = place_at(address(value, declaration.at), value.is_const);
  if (value.is_place && value.type == wanted->inner && !value.in_words) {
    if (value.space != wanted->space) {
      throw Rejected{declaration.at, "the reference " + in_quotes(declaration.name) + " is to " +
                                         std::string(space_name(wanted->space)) +
                                         " memory: the object that it refers to is in " +
                                         std::string(space_name(value.space)) + " memory"};
    }
    if (value.is_const && !wanted->is_const) {
      throw Rejected{declaration.at, "the reference " + in_quotes(declaration.name) +
                                         " must be const: the object that it refers to is const"};
    }
    Value place = freeze(value);
    place.is_const = wanted->is_const || is_read_only(place.space);
    make_local(declaration.name, place, scope);
    return;
  }
  if (!wanted->is_const && !is_read_only(wanted->space)) {
    throw Rejected{declaration.at, "the reference " + in_quotes(declaration.name) + " of type " + in_quotes(wanted) +
                                       " needs a variable of that type to refer to, not a value of type " +
                                       (value.type != nullptr ? in_quotes(value.type) : std::string("{...}"))};
  }
  QualifiedType held;
  held.type = plain(wanted->inner);
  held.is_const = true;
  declare_value(declaration, held, convert(value, held, declaration.at, "the value of " + in_quotes(declaration.name)),
                scope);
}

void Lowering::declare_group_memory(const ast::Declaration& declaration, const QualifiedType& type, Scope& scope) {
  if (!body_.is_kernel) {
    throw Rejected{declaration.at, "threadgroup memory is declared in kernels only: pass " +
                                       in_quotes(declaration.name) + " as a pointer"};
  }
  if (type.type->is_array() && type.type->count == 0)
    throw Rejected{declaration.at, "the array " + in_quotes(declaration.name) + " needs a size"};
  ir::Variable& made = module_.make_variable(std::string(declaration.name), type.type, Space::Threadgroup);
  emit(build(declaration.at).declare(made));
  Value place = variable_place(made, declaration.at);
  place.is_const = type.is_const;
  make_local(declaration.name, place, scope);
  if (declaration.initializer != nullptr) initialize_group_memory(declaration, place, scope);
}

// The first thread of the group writes the values; the others wait for it.
void Lowering::initialize_group_memory(const ast::Declaration& declaration, const Value& place, Scope& scope) {
  const Location at = declaration.at;
  if (place.type->scalar()->is(TypeKind::Atomic)) throw Rejected{at, "an atomic has no initial value: store one"};
  ir::Block statements;
  {
    const Into into(*this, statements);
    const ir::Expression* value = initialize({.type = place.type}, declaration, scope);
    if (value == nullptr) value = build(at).zero(plain(place.type));
    store_parts(place, settle(value), at);
  }
  const ir::Expression* index = position("thread_index_in_threadgroup", at);
  emit(build(at).if_(build(at).binary(ir::Operator::Equal, index, build(at).constant_uint(0)), std::move(statements)));
  constexpr uint32_t kThreadgroupMemory = 2;
  effect(ir::Intrinsic::GroupBarrier, {}, at, kThreadgroupMemory);
  body_.has_effects = true;
}

// place = value, the elements of arrays one by one.
void Lowering::store_parts(const Value& place, const ir::Expression* value, Location at) {
  if (!place.type->is_array()) return assign(place, value, at);
  const bool is_zero = value->kind == ir::ExpressionKind::Zero;
  ir::Variable& i = local("i", table_.get(TypeKind::Int), build(at).constant_int(0), at);
  ir::Builder& make = build(at);
  ir::Block body, step;
  {
    const Into into(*this, body);
    Value part = place;
    part.ir = make.index(place.ir, make.variable(i));
    part.type = place.type->inner;
    store_parts(part, is_zero ? make.zero(plain(part.type)) : make.index(value, make.variable(i)), at);
  }
  step.push_back(make.assign(make.variable(i), make.binary(ir::Operator::Add, make.variable(i), make.constant_int(1))));
  emit(make.loop(make.binary(ir::Operator::Less, make.variable(i), make.constant_int(place.type->count)),
                 std::move(body), std::move(step)));
}

// auto [a, b] = …
void Lowering::declare_bindings(const ast::Declaration& declaration, Scope& scope) {
  const Location at = declaration.at;
  if (declaration.initializer == nullptr) throw Rejected{at, "auto [...] needs a value"};
  Value value = expression(*declaration.initializer, scope);
  if (value.braces != nullptr || is_void(value)) throw Rejected{at, "auto [...] needs a struct or an array"};
  const bool is_reference = declaration.type != nullptr && (declaration.type->form == ast::TypeForm::Reference ||
                                                            declaration.type->form == ast::TypeForm::RvalueReference);
  if (is_reference && value.is_place) {
    value = freeze(value);
  } else {
    const Value loaded = load(value);
    ir::Variable& kept = local("bound", loaded.type, loaded.ir, at);
    value = variable_place(kept, at);
  }
  const ast::TypeName* written = declaration.type;
  while (written != nullptr) {
    value.is_const = value.is_const || written->is_const;
    written = written->inner;
  }
  const Type* type = value.type;
  const size_t count = type->is_struct()                       ? types_.class_of(type)->members.size()
                       : type->is_array() || type->is_vector() ? type->count
                                                               : 0;
  if (count != declaration.bindings.size()) {
    throw Rejected{at, "auto [...] has " + std::to_string(declaration.bindings.size()) + " names: " + in_quotes(type) +
                           " has " + std::to_string(count) + " parts"};
  }
  for (size_t i = 0; i < count; ++i) {
    const Value part = type->is_struct() ? *field_of(value, types_.class_of(type)->members[i].name, at)
                                         : element(value, rvalue(build(at).constant_int(static_cast<int64_t>(i))), at);
    make_local(declaration.bindings[i], part, scope);
  }
}

// for (T x : …)
void Lowering::declare_item(const ast::Declaration& declaration, const Value& item, Scope& scope) {
  if (declaration.kind == ast::DeclarationKind::Structured)
    throw Rejected{declaration.at, "auto [...] in a range for is not supported: name the element"};
  const QualifiedType type = types_.resolve(*declaration.type, scope);
  declare_from(declaration, type, item, scope);
}

// ---- Variables outside of functions ---------------------------------------------------------------------------------

// Variables outside of functions: all are constants, computed at their first use.

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

// ---- Function constants ---------------------------------------------------------------------------------------------

// Function constants: `constant int n [[function_constant(0)]]`. Their values are options of the translation, by name
// or by index. A vector has one for each component: "v.x", "v.y".

namespace {

constexpr std::string_view kFunctionConstant = "function_constant";
constexpr size_t kMaxNames = 12;  // in a warning
constexpr double kMaxFloat = 0x1.FFFFFEp127, kMaxHalf = 65504, kMaxBFloat = 0x1.FEp127;

// What comes after the name in the options: one text for each number of the value.
std::vector<std::string_view> suffixes_of(const Type* type) {
  if (!type->is_vector()) return {""};
  constexpr std::string_view kComponents[] = {".x", ".y", ".z", ".w"};
  return {kComponents, kComponents + type->count};
}

bool can_hold(const Type* scalar, double value) {
  if (scalar->is_floating() && !std::isfinite(value)) return true;  // infinity and NaN
  switch (scalar->kind) {
    case TypeKind::Bool:
      return value == 0 || value == 1;
    case TypeKind::Half:
      return std::abs(value) <= kMaxHalf;
    case TypeKind::BFloat:
      return std::abs(value) <= kMaxBFloat;
    case TypeKind::Float:
      return std::abs(value) <= kMaxFloat;
    default:
      break;
  }
  const bool is_large = value >= 0x1p63;
  const bool is_whole = value >= -0x1p63 && value < 0x1p64 && std::trunc(value) == value;
  return is_whole &&
         fits(scalar, is_large ? static_cast<int64_t>(static_cast<uint64_t>(value)) : static_cast<int64_t>(value),
              is_large);
}

const ir::Expression* constant_of(ir::Builder& make, const Type* scalar, double value) {
  if (scalar->is(TypeKind::Bool)) return make.constant_bool(value != 0);
  if (scalar->is_floating()) return make.constant_float(static_cast<float>(value), scalar->kind);
  if (value >= 0x1p63) return make.constant_uint(static_cast<uint64_t>(value), scalar->kind);
  return make.constant_int(static_cast<int64_t>(value), scalar->kind);
}

}  // namespace

std::optional<Value> Lowering::function_constant(const ast::Declaration& declaration, Scope& scope, Location at) {
  if (declaration.attribute(kFunctionConstant) == nullptr) return std::nullopt;
  const Type* type = types_.resolve_plain(*declaration.type, scope);
  if (!type->is_number()) {
    throw Rejected{declaration.at, "the function constant " + in_quotes(declaration.name) +
                                       " must be a number or a vector, and is " + in_quotes(type)};
  }
  ir::Builder& make = build(at);
  std::vector<const ir::Expression*> numbers;
  bool is_given = false;
  for (const std::string_view part : suffixes_of(type)) {
    const std::optional<double> given = given_number(declaration, scope, part);
    is_given = is_given || given;
    // What does not fit was reported by check_given_constant().
    const double value = given && can_hold(type->scalar(), *given) ? *given : 0;
    numbers.push_back(constant_of(make, type->scalar(), value));
  }
  if (!is_given && !body_.is_unevaluated) unset_constants_.insert(&declaration);
  Value value = rvalue(!is_given ? make.zero(type) : type->is_vector() ? make.construct(type, numbers) : numbers[0]);
  value.is_const = true;
  return value;
}

std::optional<double> Lowering::given_number(const ast::Declaration& declaration, Scope& scope, std::string_view part) {
  if (options_.constants.empty()) return std::nullopt;
  auto found = options_.constants.find(base::format("{}{}", declaration.name, part));
  if (found == options_.constants.end())
    found = options_.constants.find(base::format("{}{}", function_constant_index(declaration, scope), part));
  if (found == options_.constants.end()) return std::nullopt;
  return found->second;
}

// As a text; empty: it has none.
std::string Lowering::function_constant_index(const ast::Declaration& declaration, Scope& scope) {
  const ast::Attribute* attribute = declaration.attribute(kFunctionConstant);
  if (attribute == nullptr || attribute->arguments.empty()) return "";
  return std::to_string(constant_integer(*attribute->arguments[0], scope, "the index of a function constant"));
}

void Lowering::check_constant_indices() {
  std::map<std::string, const ast::Declaration*> by_index;
  for (const PlacedDeclaration& placed : lookup_.declared().variables) {
    const std::string index = function_constant_index(*placed.declaration, *placed.scope);
    if (index.empty()) continue;
    const auto [known, is_new] = by_index.emplace(index, placed.declaration);
    if (!is_new)
      diagnostics_.error(placed.declaration->at,
                         base::format("the function constants {} and {} have the same index {}",
                                      in_quotes(known->second->name), in_quotes(placed.declaration->name), index));
  }
}

// A value that no function constant takes is a mistake: a wrong name, or a constant that the source no longer has.
void Lowering::check_given_constants() {
  if (options_.constants.empty()) return;
  std::map<std::string, const Type*, std::less<>> known;  // by name and by index
  std::vector<std::string> names;
  for (const PlacedDeclaration& placed : lookup_.declared().variables) {
    const ast::Declaration& declaration = *placed.declaration;
    if (declaration.attribute(kFunctionConstant) == nullptr) continue;
    const Type* type = types_.resolve_plain(*declaration.type, *placed.scope);
    const std::string index = function_constant_index(declaration, *placed.scope);
    known.emplace(declaration.name, type);
    if (!index.empty()) known.emplace(index, type);
    names.push_back(index.empty() ? std::string(declaration.name) : base::format("{} ({})", declaration.name, index));
    if (type->is_number()) check_given_constant(declaration, type, *placed.scope);
  }
  for (const auto& [key, value] : options_.constants) {
    const std::string_view name = std::string_view(key).substr(0, key.find('.'));
    const auto found = known.find(name);
    const Location at = {.file = context_.user_file};
    if (found == known.end()) {
      diagnostics_.error(at, base::format("the source has no function constant {}; {}", in_quotes(key),
                                          names.empty() ? "it has none at all"
                                                        : "it has (with the index): " + base::join(names, ", ")));
      continue;
    }
    const std::vector<std::string_view> parts = suffixes_of(found->second);
    if (std::ranges::find(parts, std::string_view(key).substr(name.size())) != parts.end()) continue;
    diagnostics_.error(at, base::format("the function constant {} is {}, and takes {}, not {}", in_quotes(name),
                                        in_quotes(found->second),
                                        parts.size() == 1 ? "one number"
                                                          : base::format("{} numbers, {}{} to {}{}", parts.size(), name,
                                                                         parts.front(), name, parts.back()),
                                        in_quotes(key)));
  }
}

// Also if nothing uses the constant.
void Lowering::check_given_constant(const ast::Declaration& declaration, const Type* type, Scope& scope) {
  const std::string index = function_constant_index(declaration, scope);
  std::vector<std::string> given, missing;
  for (const std::string_view part : suffixes_of(type)) {
    const std::string name = base::format("{}{}", declaration.name, part);
    const bool is_twice = options_.constants.contains(name) && options_.constants.contains(index + std::string(part));
    const std::optional<double> value = given_number(declaration, scope, part);
    (value ? given : missing).push_back(name);
    if (is_twice)
      diagnostics_.error(
          declaration.at,
          base::format("the function constant {} has two values: {} by its name, and {} by its index {}",
                       in_quotes(name), *value, options_.constants.find(index + std::string(part))->second, index));
    if (value && !can_hold(type->scalar(), *value))
      diagnostics_.error(declaration.at, base::format("the function constant {} is {}, and cannot be {}",
                                                      in_quotes(name), in_quotes(type->scalar()), *value));
  }
  if (!given.empty() && !missing.empty())
    diagnostics_.error(declaration.at,
                       base::format("the function constant {} is {}, and was given no value for {}",
                                    in_quotes(declaration.name), in_quotes(type), base::join(missing, ", ")));
}

// One warning: real sources have dozens of them.
void Lowering::warn_about_unset_constants() {
  if (unset_constants_.empty()) return;
  std::vector<const ast::Declaration*> unset(unset_constants_.begin(), unset_constants_.end());
  std::ranges::sort(unset, {}, [](const ast::Declaration* each) {
    return std::tuple(each->at.file, each->at.line, each->at.column);
  });
  std::vector<std::string> names;
  for (const ast::Declaration* each : unset) {
    if (names.size() == kMaxNames) break;
    names.push_back(in_quotes(each->name));
  }
  const bool is_one = unset.size() == 1;
  const size_t more = unset.size() - names.size();
  diagnostics_.warning(
      {.file = context_.user_file},
      base::format("the function constant{} {}{} {} no value, and {} 0 here: set {} by name or index with -C "
                   "(kymo shader) or constants (compile_shader)",
                   is_one ? "" : "s", base::join(names, ", "), more == 0 ? "" : base::format(" and {} more", more),
                   is_one ? "has" : "have", is_one ? "is" : "are", is_one ? "it" : "them"));
}

Value Lowering::function_constant_defined(const ast::Expression& call, Scope& scope) {
  const ast::Expression* argument = call.operands.size() == 2 ? call.operands[1] : nullptr;
  if (argument != nullptr && argument->kind == ast::ExpressionKind::Name) {
    for (const Symbol* symbol : lookup_.find(argument->name, scope, argument->at)) {
      if (symbol->kind != Symbol::Kind::Variable || symbol->declaration->attribute(kFunctionConstant) == nullptr)
        continue;
      const Type* type = types_.resolve_plain(*symbol->declaration->type, *symbol->scope);
      const std::string_view first = suffixes_of(type).front();
      return rvalue(
          build(call.at).constant_bool(given_number(*symbol->declaration, *symbol->scope, first).has_value()));
    }
  }
  throw Rejected{call.at, "is_function_constant_defined takes one function constant, by its name"};
}

}  // namespace kymo::shader
