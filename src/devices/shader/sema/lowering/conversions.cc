// Conversions of a value to another type: implicit ones, and casts.

#include "base/text.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {
namespace {

std::string conversion_fault(const Value& from, const Type* to, std::string_view what) {
  const std::string given = from.is_null || from.type == nullptr ? "\"nullptr\"" : in_quotes(from.type);
  std::string text = base::format("cannot convert {} to {}", given, in_quotes(to));
  if (!what.empty()) text += base::format(" for {}", what);
  if (from.type != nullptr && from.type->is_vector() && to->is_vector() && from.type->count == to->count)
    text += base::format(": vectors are converted only by {}(...)", TypeTable::name(to));
  else if (from.type != nullptr && from.type->is_pointer() && to->is_pointer() && from.type->space != to->space)
    text += ": pointers cannot change their address space";
  else if (const Class* object = class_named(to); object != nullptr && object->function != nullptr)
    text += ": a pointer to a function always points to the function that it was initialized with; use if or switch";
  else if (from.type != nullptr && from.type->is_number() && to->is_number() && (from.type->is_enum() || to->is_enum()))
    text += base::format(": {} is converted only by {}(...)", from.type->is_enum() ? "an enum class" : "a number",
                         TypeTable::name(to));
  else if (to->is(TypeKind::Reference) && !from.is_place)
    text += ": it is not a variable, but this reference may change it";
  return text;
}

}  // namespace

const ir::Expression* Lowering::convert_number(const ir::Expression* from, const Type* to, Location at) {
  return build(at).convert(to, from);
}

const ir::Expression* Lowering::convert(const Value& from, const QualifiedType& wanted, Location at,
                                        std::string_view what) {
  const QualifiedType to = types_.adapt(wanted, from);
  const Type* type = to.type;
  if (type->is(TypeKind::Reference)) return convert_reference(from, type, at, what);
  if (from.braces != nullptr) return from_braces(type, *from.braces, *from.braces_scope);
  if (overloads_.rank(from, to) == Rank::Impossible) throw Rejected{at, conversion_fault(from, type, what)};
  if (type->is_pointer() && (from.is_null || from.is_literal_zero || !from.type->is_struct()))
    return convert_pointer(from, type, at);
  if (from.is_null) return build(at).constant_bool(false);
  if (from.type == type) return copied(from, at);
  if (type->is_vector() && from.type->is_vector()) return read(from);
  if (const Class* object = class_named(type); object != nullptr && object->function != nullptr)
    return build(at).construct(type, {});
  if (type->is_number() && from.type->is_number()) {
    const ir::Expression* number = convert_number(read(from), type->scalar(), at);
    return type->is_vector() ? build(at).splat(number, type->count) : number;
  }
  if (type->is(TypeKind::Bool) && !from.type->is_struct()) {
    const ir::Expression* pointer = read(decayed(from));
    return build(at).binary(ir::Operator::NotEqual, pointer, build(at).null(pointer->type));
  }
  if (type->is_struct() && from.type->is_struct() &&
      types_.is_derived(*types_.class_of(from.type), *types_.class_of(type)))
    return copied(base_of(from, *types_.class_of(type), at), at);
  const std::optional<UserConversion> by = overloads_.user_conversion(from, type);
  if (!by) throw Rejected{at, conversion_fault(from, type, what)};
  if (by->by_constructor) return construct(type, std::span(&from, 1), at);
  const Value object = object_place(from, at);
  Chosen chosen;
  chosen.instance = &overloads_.instance(*by->symbol, by->arguments, {}, &object, at);
  return convert(call(chosen, object, {}, at), to, at, what);
}

const ir::Expression* Lowering::convert_explicitly(const Value& from, const Type* to, Location at) {
  const Restore<bool> restore(overloads_.allows_explicit());
  overloads_.allows_explicit() = true;
  return convert(from, {.type = to}, at, "");
}

const ir::Expression* Lowering::convert_pointer(const Value& from, const Type* pointer, Location at) {
  if (from.is_null || from.is_literal_zero) return build(at).null(pointer);
  const bool is_table =
      from.type->is_array() && from.is_place && from.space == Space::Program && pointer->space == Space::Thread;
  const Value value = decayed(is_table ? keep(from, "table") : from);
  const ir::Expression* given = read(value);
  const Type* to = pointer->inner;
  const Type* pointee = value.type->inner;
  if (pointee != to && to->is_struct() && pointee->is_struct())
    given = address(base_of(place_at(given, value.type->is_const), *types_.class_of(to), at), at);
  return build(at).pointer_cast(pointer, given);
}

const ir::Expression* Lowering::convert_reference(const Value& from, const Type* reference, Location at,
                                                  std::string_view what) {
  const Type* to = reference->inner;
  const Rank cost = overloads_.rank_reference(from, reference);
  if (cost == Rank::Impossible) throw Rejected{at, conversion_fault(from, reference, what)};
  const Type* pointer = table_.pointer(to, reference->space, reference->is_const);
  const bool is_component =
      from.ir != nullptr && (from.ir->kind == ir::ExpressionKind::Swizzle ||
                             (from.ir->kind == ir::ExpressionKind::Index && from.ir->operands[0]->type->is_vector()));
  if (from.is_place && from.braces == nullptr && from.space == reference->space &&
      (reference->is_const ? !is_component : !from.is_const)) {
    if (from.type == to) return build(at).pointer_cast(pointer, address(from, at));
    if (to->is_struct() && from.type->is_struct() &&
        types_.is_derived(*types_.class_of(from.type), *types_.class_of(to)))
      return build(at).pointer_cast(pointer, address(base_of(from, *types_.class_of(to), at), at));
  }
  // The object of a reference is only moved to memory that it can refer to: no copy for the source.
  const ir::Expression* copied =
      from.type == to && to->is_struct() ? read(from) : convert(from, {.type = to}, at, what);
  const Type* held = plain(to);
  ir::Variable& kept = local("copy", held, copied, at);
  return build(at).pointer_cast(table_.pointer(held, Space::Thread, reference->is_const),
                                build(at).address_of(build(at).variable(kept)));
}

// ---- Casts ----------------------------------------------------------------------------------------------------------

// T(x), (T)x, static_cast, as_type.

Value Lowering::cast(const ast::Expression& expression, Scope& scope) {
  QualifiedType type = types_.resolve(*expression.type, scope);
  if (type.class_template != nullptr)
    type = deduce_class(*type.class_template, values_of(expression.operands, scope), expression.at);
  if (type.is_auto || type.type == nullptr) throw Rejected{expression.at, "cannot convert to auto"};
  if (expression.kind == ast::ExpressionKind::Braces) {
    return rvalue(from_braces(type.type, expression, scope), plain(type.type));
  }
  const std::vector<Value> given = arguments_or_void(expression, type.type, scope);
  if (type.type->is(TypeKind::Void)) {
    Value nothing;
    nothing.type = type.type;
    return nothing;
  }
  if (given.size() == 1) return cast_to(type, given[0], expression.text, expression.at);
  if (!expression.text.empty()) throw Rejected{expression.at, std::string(expression.text) + " takes one value"};
  return rvalue(construct(type.type, given, expression.at), plain(type.type));
}

std::vector<Value> Lowering::arguments_or_void(const ast::Expression& expression, const Type* type, Scope& scope) {
  if (!type->is(TypeKind::Void)) return arguments(expression.operands, scope);
  for (const ast::Expression* operand : expression.operands) discard(*operand, scope);
  return {};
}

Value Lowering::cast_bits(const Type* type, const Value& given, Location at) {
  const Value value = load(decayed(given));
  const auto differ = [&] {
    return Rejected{
        at, "as_type needs types of the same size: " + in_quotes(value.type) + " and " + in_quotes(type) + " differ"};
  };
  if (type->is_pointer() || value.type->is_pointer()) {
    if (type->size != value.type->size) throw differ();
    return rvalue(build(at).pointer_cast(type, value.ir), type);
  }
  const auto is_plain = [](const Type* checked) {
    return checked->is_number() && !checked->scalar()->is(TypeKind::Bool);
  };
  const Type* to = plain(type);
  if (!is_plain(to) || !is_plain(value.type)) {
    throw Rejected{at, "as_type takes numbers and vectors: " + in_quotes(value.type) + " to " + in_quotes(type) +
                           " is not possible"};
  }
  if (to->scalar()->size * to->components() != value.type->scalar()->size * value.type->components() &&
      to->size != value.type->size)
    throw differ();
  return rvalue(build(at).bitcast(to, value.ir), to);
}

Value Lowering::cast_to(const QualifiedType& wanted, const Value& given, std::string_view how, Location at) {
  const Type* type = wanted.type;
  if (given.braces != nullptr) return rvalue(from_braces(type, *given.braces, *given.braces_scope), plain(type));
  if (how == "as_type") return cast_bits(type, given, at);
  const auto refuse = [&]() {
    return Rejected{at, "cannot convert " + in_quotes(given.type) + " to " + in_quotes(type)};
  };
  if (type->is(TypeKind::Reference)) {
    // The address space of `constant` is that of the object.
    const bool is_constant =
        type->space == Space::Constant && (given.space == Space::Program || given.is_constant || given.is_const);
    if (!given.is_place || (given.space != type->space && !is_constant)) throw refuse();
    Class* to = types_.class_of(type->inner);
    Class* from = types_.class_of(given.type);
    if (given.type == type->inner || (to != nullptr && from != nullptr && types_.is_derived(*from, *to))) {
      Value place = given.type == type->inner ? given : base_of(given, *to, at);
      place.is_const = type->is_const;
      return place;
    }
    const Type* pointer = table_.pointer(type->inner, given.space, type->is_const);
    return place_at(build(at).pointer_cast(pointer, address(given, at)), type->is_const);
  }
  if (how == "const_cast" && !type->is_pointer()) throw refuse();
  if (type->is_struct()) return rvalue(construct(type, std::span(&given, 1), at), type);
  if (given.type->is_struct()) return rvalue(convert_explicitly(given, type, at), plain(type));
  Value value = decayed(given);
  if (type->is_pointer()) {
    value = load(value);
    if (value.is_null || value.is_literal_zero) return rvalue(build(at).null(type), type);
    if (value.type->is_integer()) {
      if (type->space != Space::Device && type->space != Space::Constant) throw refuse();
      const ir::Expression* number = convert_number(value.ir, table_.get(TypeKind::ULong), at);
      return rvalue(build(at).pointer_cast(type, number), type);
    }
    if (!value.type->is_pointer()) throw refuse();
    if (value.type->space != type->space) {
      // The address space of `constant` is that of the object.
      const QualifiedType adapted = types_.adapt(wanted, value);
      if (adapted.type->space != value.type->space) {
        throw Rejected{at, "cannot convert " + in_quotes(value.type) + " to " + in_quotes(type) +
                               ": they are in different address spaces"};
      }
      type = adapted.type;
    }
    Class* to = class_named(type->inner);
    Class* from = class_named(value.type->inner);
    if (to != nullptr && from != nullptr && to != from && how != "reinterpret_cast" && types_.class_of(from->type) &&
        types_.is_derived(*from, *to)) {
      return rvalue(address(base_of(place_at(value.ir, value.type->is_const), *to, at), at), type);
    }
    return rvalue(build(at).pointer_cast(type, value.ir), type);
  }
  if (value.type->is_pointer()) {
    value = load(value);
    if (type->is(TypeKind::Bool)) return rvalue(truth(value, at, "the value"));
    if (!type->is_integer() || type->size != 8) {
      throw Rejected{at, "cannot convert " + in_quotes(value.type) + " to " + in_quotes(type) +
                             ": a pointer has 8 bytes, use ulong"};
    }
    const ir::Expression* number = build(at).pointer_cast(table_.get(TypeKind::ULong), value.ir);
    return rvalue(convert_number(number, type, at), type);
  }
  if (type->is_array() || type->is(TypeKind::Atomic) || !value.type->is_number()) throw refuse();
  const Type* to = plain(type);
  if (value.type->is_vector() && (!to->is_vector() || to->count != value.type->count)) throw refuse();
  return rvalue(as_number(value, to, at), to);
}

}  // namespace kymo::shader
