// T(x), (T)x, static_cast, as_type.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

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
  if (type->is_pointer() || value.type->is_pointer()) {
    if (type->size != value.type->size) {
      throw Rejected{
          at, "as_type needs types of the same size: " + in_quotes(value.type) + " and " + in_quotes(type) + " differ"};
    }
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
      to->size != value.type->size) {
    throw Rejected{
        at, "as_type needs types of the same size: " + in_quotes(value.type) + " and " + in_quotes(type) + " differ"};
  }
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
