// Implicit conversions of a value to another type.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/guards.h"
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
  if (from.is_place && from.braces == nullptr && from.bits == nullptr && from.space == reference->space &&
      (reference->is_const ? !is_component : !from.is_const)) {
    if (from.type == to) return build(at).pointer_cast(pointer, address(from, at));
    if (to->is_struct() && from.type->is_struct() &&
        types_.is_derived(*types_.class_of(from.type), *types_.class_of(to)))
      return build(at).pointer_cast(pointer, address(base_of(from, *types_.class_of(to), at), at));
  }
  // The object of a reference is only moved to memory that it can refer to: no copy for the source.
  const ir::Expression* copied =
      from.type == to && to->is_struct() ? read(from) : convert(from, {.type = to}, at, what);
  const Type* held = to->is_vector() && to->packed ? table_.vector(to->inner, to->count) : to;
  ir::Variable& kept = local("copy", held, copied, at);
  return build(at).pointer_cast(table_.pointer(held, Space::Thread, reference->is_const),
                                build(at).address_of(build(at).variable(kept)));
}

}  // namespace kymo::shader
