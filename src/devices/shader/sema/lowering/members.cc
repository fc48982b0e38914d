// Parts of objects: fields, components, elements, and the targets of pointers.
//
// A union is stored as its first member. Another member is a *view*: a Value whose `ir` is the storage and whose
// `viewed` is the type as which the bytes are read. If the member is an array, the view is a vector of its elements,
// and `view_index` is the index of the element.

#include <algorithm>

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

// A part of an object: a place if the object is one.
Value members_part(const Value& object, const ir::Expression* part) {
  Value made = object;
  made.ir = part;
  made.type = part->type;
  made.home = nullptr;
  made.kept = nullptr;
  return made;
}

bool members_is_storable(const Type* type) { return type->is_number() && !type->scalar()->is(TypeKind::Bool); }

}  // namespace

std::optional<Value> Lowering::field_of(const Value& object, std::string_view name, Location at) {
  uint32_t index = 0;
  const Class* const whole = types_.class_of(object.type);
  if (whole != nullptr && whole->in_words) {
    for (const Member& member : whole->members) {
      if (member.name == name && member.is_bits) return bit_field(union_member(object, object.type, at), member);
      if (member.name == name) return view_or_word(union_member(object, member.type, at));
      if (!is_unnamed_field(member.name)) continue;
      if (std::optional<Value> found = field_of(union_member(object, member.type, at), name, at)) return found;
    }
    return std::nullopt;
  }
  const Field* field = types_.find_field(object.type, name, index);
  if (whole != nullptr && whole->has_bits)
    for (const Member& member : whole->members)
      if (member.is_bits && member.name == name) return bit_field(object, member);
  if (field == nullptr) {
    if (whole == nullptr) return std::nullopt;
    for (const Field& each : object.type->fields) {
      if (!is_unnamed_field(each.name)) continue;
      const std::optional<Value> part = field_of(object, each.name, at);
      if (std::optional<Value> found = part ? field_of(*part, name, at) : std::nullopt) return found;
    }
    for (const Class* base : whole->bases) {
      if (std::optional<Value> found = field_of(base_of(object, *base, at), name, at)) return found;
    }
    return std::nullopt;
  }
  if (object.in_words) return view_or_word(view_part(object, field->type, field->offset));
  if (!object.type->is_union || index == 0) {
    Value part = members_part(object, build(at).member(object.ir, index));
    const ast::Declaration* declared = whole->is_closure ? nullptr : field_declaration(*whole, name);
    const bool is_reference = declared != nullptr && declared->type->form == ast::TypeForm::Reference;
    if (declared != nullptr && declared->is_mutable && part.is_place && part.is_const && !is_read_only(part.space))
      part = place_at(build(at).pointer_cast(table_.pointer(part.type, part.space), address(part, at)), false);
    return is_reference ? place_at(part.ir, part.type->is_const) : part;
  }

  const Type* storage = object.type->fields[0].type;
  Value view = members_part(object, build(at).member(object.ir, 0u));
  view.type = field->type;
  view.viewed = field->type;
  if (field->type->is_array())
    view.viewed = field->type->inner->is_scalar() && field->type->count >= 2 && field->type->count <= 4
                      ? table_.vector(field->type->inner, field->type->count)
                      : nullptr;
  if (view.viewed == nullptr || !members_is_storable(view.viewed) || !members_is_storable(storage) ||
      view.viewed->size != storage->size) {
    throw Rejected{at, "the union " + in_quotes(object.type) + " is not supported: its members " +
                           in_quotes(object.type->fields[0].name) + " and " + in_quotes(name) +
                           " must be numbers or vectors of the same size; use as_type instead"};
  }
  return view;
}

bool Lowering::has_mutable_members(const Type* type) {
  while (type->is_array()) type = type->inner;
  const Class* made = types_.class_of(type);
  if (made == nullptr || made->is_closure) return false;
  return std::any_of(made->members.begin(), made->members.end(), [&](const Member& member) {
    const ast::Declaration* declared = field_declaration(*made, member.name);
    return (declared != nullptr && declared->is_mutable) || has_mutable_members(member.type);
  });
}

Value Lowering::member_place(const Value& object, const Member& member, Location at) {
  const Class& owner = *types_.class_of(object.type);
  if (member.field == Member::kNoField) {  // the base is where the object is
    if (!object.is_place || object.in_words || object.bits != nullptr)
      return rvalue(build(at).zero(member.type), member.type);
    const bool is_const = object.is_const || is_read_only(object.space);
    return place_at(build(at).pointer_cast(table_.pointer(member.type, object.space, is_const), address(object, at)),
                    is_const);
  }
  if (member.is_bits || owner.in_words || (object.type->is_union && member.field != 0))
    return *field_of(object, member.name, at);
  if (object.in_words) return view_part(object, member.type, object.type->fields[member.field].offset);
  return members_part(object, build(at).member(object.ir, member.field));
}

Value Lowering::union_member(const Value& object, const Type* type, Location at) {
  Value view = object.in_words ? object : members_part(object, build(at).member(object.ir, 0u));
  view.in_words = true;
  return view_part(view, type, 0);
}

Value Lowering::base_of(const Value& object, const Class& base, Location at) {
  if (object.type == base.type) return object;
  const Class* owner = types_.class_of(object.type);
  if (owner != nullptr) {
    for (size_t i = 0; i < owner->bases.size(); ++i) {
      if (owner->bases[i] != &base && !types_.is_derived(*owner->bases[i], base)) continue;
      return base_of(member_place(object, owner->members[i], at), base, at);
    }
  }
  throw Rejected{at, in_quotes(object.type) + " is not derived from " + in_quotes(base.type)};
}

Value Lowering::self_member(const Symbol& symbol, Location at) {
  if (!body_.self) {
    throw Rejected{at, "the member " + in_quotes(symbol.name) + " of " + in_quotes(symbol.owner->type) +
                           " needs an object: there is none here"};
  }
  Value object = *body_.self;
  Class* own = types_.class_of(object.type);
  if (own != nullptr && symbol.owner->declaration != nullptr && is_unnamed_field(symbol.owner->declaration->name))
    if (std::optional<Value> found = field_of(object, symbol.name, at)) return *found;
  if (own == nullptr || (own != symbol.owner && !types_.is_derived(*own, *symbol.owner))) {
    throw Rejected{at, "the member " + in_quotes(symbol.name) + " of " + in_quotes(symbol.owner->type) +
                           " needs an object of it: there is none here"};
  }
  std::optional<Value> found = field_of(base_of(object, *symbol.owner, at), symbol.name, at);
  if (!found)
    throw Rejected{at, "there is no member " + in_quotes(symbol.name) + " in " + in_quotes(symbol.owner->type)};
  return *found;
}

Value Lowering::pointee(const Value& pointer, Location at) {
  const Value value = load(decayed(pointer));
  if (!value.type->is_pointer()) {
    throw Rejected{at, "cannot dereference " + in_quotes(value.type) + ": it is not a pointer"};
  }
  if (value.type->inner->is(TypeKind::Void)) throw Rejected{at, "a pointer to void must be cast before it is used"};
  build_.at = at;
  // *a of an array is its first element.
  if (value.ir->kind == ir::ExpressionKind::Decay) {
    Value first = pointer;
    first.ir = build(at).index(value.ir->operands[0], 0);
    first.type = value.type->inner;
    return first;
  }
  // *(a + i) of an array is its element.
  if (value.ir->kind == ir::ExpressionKind::PointerAdd && value.ir->operands[0]->kind == ir::ExpressionKind::Decay) {
    Value place = place_at(value.ir, value.type->is_const);
    place.ir = build(at).index(value.ir->operands[0]->operands[0], value.ir->operands[1]);
    return place;
  }
  return place_at(value.ir, value.type->is_const);
}

Value Lowering::element(const Value& of, const Value& index, Location at) {
  Value position = load(number_of(index, at));
  if ((!position.type->is_integer() && !position.type->is(TypeKind::Bool)) || position.type->is_enum()) {
    // 2[array] is the same as array[2]; anything else is no index.
    throw Rejected{at, "an index must be an integer, and is " + in_quotes(position.type)};
  }
  const Type* wide = table_.get(position.type->size > 4 ? TypeKind::Long : TypeKind::Int);
  if (position.type->size < 4) position = rvalue(convert_number(position.ir, wide, at));
  if (of.in_words && (of.type->is_array() || of.type->is_vector())) {
    if (position.ir->kind == ir::ExpressionKind::Constant && position.ir->bits >= of.type->count)
      throw Rejected{at, "the index " + std::to_string(static_cast<int64_t>(position.ir->bits)) +
                             " is out of range: " + in_quotes(of.type) + " has " + std::to_string(of.type->count)};
    return view_or_word(view_element(of, position.ir, at));
  }
  if (of.type->is_array() && of.viewed != nullptr) {
    Value made = of;
    made.type = of.type->inner;
    made.view_index = position.ir;
    return made;
  }
  if (of.type->is_array() || of.type->is_vector()) {
    if (position.ir->kind == ir::ExpressionKind::Constant && position.ir->bits >= of.type->count) {
      throw Rejected{at, "the index " + std::to_string(static_cast<int64_t>(position.ir->bits)) +
                             " is out of range: " + in_quotes(of.type) + " has " + std::to_string(of.type->count)};
    }
    Value whole = of.is_place || of.type->is_vector() ? of : keep(of, "array");
    if (whole.viewed != nullptr && whole.view_index == nullptr) {
      whole.type = of.type->inner;
      whole.view_index = position.ir;
      return whole;
    }
    const ir::Expression* part = build(at).index(whole.ir, position.ir);
    return members_part(whole, whole.is_place ? part : folded(part));
  }
  const Value pointer = load(of);
  if (!pointer.type->is_pointer()) {
    throw Rejected{at, "cannot index " + in_quotes(of.type) + ": it is not an array, pointer or vector"};
  }
  if (pointer.type->inner->is(TypeKind::Void))
    throw Rejected{at, "a pointer to void must be cast before it is indexed"};
  if (pointer.type->inner->is_struct()) types_.class_of(pointer.type->inner);
  if (pointer.ir->kind == ir::ExpressionKind::Decay) {  // of a table by its pointer
    Value place = place_at(pointer.ir, pointer.type->is_const);
    place.ir = build(at).index(pointer.ir->operands[0], position.ir);
    return place;
  }
  return place_at(build(at).pointer_add(pointer.ir, position.ir), pointer.type->is_const);
}

Value Lowering::swizzle(const Value& of, std::string_view letters, Location at) {
  const auto fail = [&](const std::string& why) -> Value {
    throw Rejected{at, in_quotes(of.type) + " has no component " + in_quotes(letters) + ": " + why};
  };
  std::string_view set = "xyzw";
  if (std::string_view("rgba").find(letters.empty() ? ' ' : letters[0]) != std::string_view::npos) set = "rgba";
  for (const char letter : letters) {
    const size_t number = set.find(letter);
    if (number == std::string_view::npos) return fail("components are named x y z w or r g b a, of one kind");
    if (number >= of.type->count) return fail("it has only " + std::to_string(of.type->count));
  }
  if (letters.empty() || letters.size() > 4) return fail("one to four components can be named");
  if (of.in_words && letters.size() == 1)
    return view_or_word(view_element(of, build(at).constant_int(static_cast<int64_t>(set.find(letters[0]))), at));
  if (of.viewed != nullptr && letters.size() == 1) {
    Value component = of;
    component.type = of.type->inner;
    component.view_index = build(at).constant_int(static_cast<int64_t>(set.find(letters[0])));
    return component;
  }
  const Value whole = of.viewed != nullptr ? load(of) : of;
  // A swizzle of a swizzle becomes a swizzle of the vector.
  if (whole.ir->kind == ir::ExpressionKind::Swizzle && whole.is_place) {
    std::string joined;
    for (const char letter : letters) joined += "xyzw"[whole.ir->swizzle[set.find(letter)]];
    Value beneath = whole;
    beneath.ir = whole.ir->operands[0];
    beneath.type = beneath.ir->type;
    return swizzle(beneath, joined, at);
  }
  const ir::Expression* part = build(at).swizzle(whole.ir, letters);
  return members_part(whole, whole.is_place ? part : folded(part));
}

Value Lowering::member(const ast::Expression& expression, Scope& scope) {
  Value object = this->expression(*expression.operands[0], scope);
  if (object.braces != nullptr) throw Rejected{expression.at, "{...} has no members"};
  if (expression.flag) {
    if (object.type->is_struct()) {
      Value operands[] = {object};
      std::optional<Value> arrow = overloaded("->", operands, scope, expression.at);
      if (!arrow) throw Rejected{expression.at, in_quotes(object.type) + " is not a pointer: use . instead of ->"};
      object = *arrow;
    }
    object = pointee(object, expression.at);
  }
  const ast::NamePart& part = expression.name.last();
  if (object.type->is_vector()) return swizzle(object, part.name, part.at);
  if (object.type->is_pointer()) {
    throw Rejected{part.at, in_quotes(object.type) + " is a pointer: use -> instead of ."};
  }
  Class* owner = types_.class_of(object.type);
  if (owner == nullptr) {
    throw Rejected{part.at, in_quotes(object.type) + " has no members: " + in_quotes(part.name) + " does not exist"};
  }
  if (expression.name.parts.size() > 1) {  // x.Base::field
    ast::Name named = expression.name;
    Scope* in = lookup_.scope_of(named, *owner->scope, part.at);
    if (in != nullptr && in->owner != nullptr) object = base_of(object, *in->owner, part.at);
  }
  if (std::optional<Value> found = field_of(object, part.name, part.at)) return *found;
  for (const Symbol* symbol : lookup_.find_in(part.name, *owner->scope)) {
    if (symbol->kind == Symbol::Kind::Enumerator) return rvalue(types_.enumerator(*symbol, part.at));
    if (symbol->kind == Symbol::Kind::Variable) return variable(*symbol, part.at);
    if (symbol->kind == Symbol::Kind::Function) {
      throw Rejected{part.at, "the member function " + in_quotes(part.name) + " can only be called"};
    }
  }
  throw Rejected{part.at, "there is no member " + in_quotes(part.name) + " in " + in_quotes(object.type)};
}

}  // namespace kymo::shader
