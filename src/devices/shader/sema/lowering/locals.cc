// Declarations in functions.

#include "shader/ir/evaluate.h"
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
  Value place = rvalue(build(declaration.at).variable(made), held);
  place.is_place = true;
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
  if (value.viewed != nullptr && value.bits == nullptr && value.is_place && value.type == wanted->inner)
    value = place_at(address(value, declaration.at), value.is_const);
  if (value.is_place && value.type == wanted->inner && value.viewed == nullptr) {
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
  Value place = rvalue(build(declaration.at).variable(made));
  place.is_place = true;
  place.space = Space::Threadgroup;
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
    value = rvalue(build(at).variable(kept), loaded.type);
    value.is_place = true;
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

}  // namespace kymo::shader
