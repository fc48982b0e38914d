
#include "base/text.h"
#include "shader/emit/c_function.h"
#include "shader/emit/walk.h"

namespace kymo::shader {
namespace {

using ir::ExpressionKind;

bool c_places_is_constant_index(const ir::Expression& index) {
  return index.kind == ExpressionKind::Constant && index.bits < 4;
}

bool c_places_is_of_vector(const ir::Expression& expression) {
  return expression.kind == ExpressionKind::Index && expression.operands[0]->type->is_vector();
}

}  // namespace

CFunction::Place CFunction::place(const ir::Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::Variable: {
      const ir::Variable& variable = *expression.variable;
      const bool is_program = variable.space == Space::Program;
      return {{is_program ? module_.constants.at(&variable) : name(variable)},
              types_.form_of(variable),
              variable.space,
              variable.type->is_array() && (is_program || plain_arrays_.contains(&variable))};
    }
    case ExpressionKind::Dereference: {
      const ir::Expression& pointer = *expression.operands[0];
      const Space space = pointer.type->space;
      if (pointer.kind != ExpressionKind::PointerAdd)
        return {c_prefix("*", value(pointer)), types_.form_in(space), space};
      std::string text = value(*pointer.operands[0]).in(Binding::Postfix);
      return {{base::format("{}[{}]", text, offset(*pointer.operands[1]).text)}, types_.form_in(space), space};
    }
    case ExpressionKind::Member:
      return member(expression);
    case ExpressionKind::Index:
      return index(expression);
    case ExpressionKind::Swizzle: {
      if (is_loose(*expression.operands[0])) return {read(expression)};
      Place vector = base(*expression.operands[0]);
      vector.text = dialect_.swizzle(std::move(vector.text), {expression.swizzle, expression.index});
      return vector;
    }
    default:
      return {value(expression)};
  }
}

// C extends a position in memory as the conversion to long would.
CText CFunction::offset(const ir::Expression& position) {
  if (position.kind != ExpressionKind::Convert || !position.type->is(TypeKind::Long)) return value(position);
  const ir::Expression& narrow = *position.operands[0];
  return value(narrow.type->is_integer() && narrow.type->size < position.type->size ? narrow : position);
}

CFunction::Place CFunction::base(const ir::Expression& expression) {
  return ir::is_place(expression) ? place(expression) : Place{value(expression)};
}

CFunction::Place CFunction::member(const ir::Expression& expression) {
  const ir::Expression& object = *expression.operands[0];
  const std::string& field = types_.field(object.type, expression.index);
  if (object.kind == ExpressionKind::Dereference && object.operands[0]->kind != ExpressionKind::PointerAdd) {
    const Space space = object.operands[0]->type->space;
    return {{value(*object.operands[0]).in(Binding::Postfix) + "->" + field}, types_.form_in(space), space};
  }
  Place place = base(object);
  place.text = c_member(std::move(place.text), field);
  return place;
}

CFunction::Place CFunction::index(const ir::Expression& expression) {
  const ir::Expression& object = *expression.operands[0];
  const ir::Expression& position = *expression.operands[1];
  Place place = base(object);
  if (object.type->is_array() || object.type->packed) {
    if (!place.is_plain_array) place.text = c_member(std::move(place.text), "v");
    place.text = {base::format("{}[{}]", std::move(place.text).in(Binding::Postfix), offset(position).text)};
    place.is_plain_array &= expression.type->is_array();
    if (object.type->packed) place.form = Form::Memory;
    return place;
  }
  if (is_loose(object)) {  // a compiler may read the whole vector for a component of it
    place.text = {base::format("(({}{}*){})[{}]", dialect_.space(place.space),
                               types_.pointed(place.form, expression.type), c_prefix("&", std::move(place.text)).text,
                               offset(position).text)};
    return place;
  }
  if (c_places_is_constant_index(position)) {
    place.text = c_member(std::move(place.text), component_name(static_cast<uint32_t>(position.bits)));
    return place;
  }
  place.text = dialect_.component_place(types_.spelled(place.form, expression.type), dialect_.space(place.space),
                                        std::move(place.text), value(position));
  return place;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

CText CFunction::whole(const Place& place, const Type* type) {
  if (!place.is_plain_array) return place.text;
  const std::string structure = types_.spelled(place.form, type);
  return c_prefix("*", c_cast(base::format("{}{}*", dialect_.space(place.space), structure), place.text));
}

bool CFunction::is_loose(const ir::Expression& place) const {
  if (module_.loose.empty() || !place.type->is_vector() || place.type->packed || !ir::is_place(place) ||
      place.kind == ExpressionKind::Swizzle)
    return false;
  const ir::Expression& root = ir::place_root(place);
  return root.kind == ExpressionKind::Dereference && module_.loose.contains(root.type) &&
         (root.operands[0]->type->space != Space::Thread || types_.is_thread_exact());
}

CText CFunction::read(const ir::Expression& expression) {
  if (c_places_is_of_vector(expression) && expression.operands[0]->kind == ExpressionKind::Intrinsic &&
      is_position(expression.operands[0]->intrinsic) && c_places_is_constant_index(*expression.operands[1]))
    return dialect_.position(expression.operands[0]->intrinsic, static_cast<uint32_t>(expression.operands[1]->bits),
                             hidden_);
  // A vector may be in registers, so its address is not taken.
  if (c_places_is_of_vector(expression) && !expression.operands[0]->type->packed &&
      !c_places_is_constant_index(*expression.operands[1])) {
    const ir::Expression& vector = *expression.operands[0];
    Place whole_vector = base(vector);
    if (whole_vector.form == Form::Value)
      return dialect_.component(vector.type, std::move(whole_vector.text), value(*expression.operands[1]));
  }
  if (expression.kind == ExpressionKind::Swizzle && expression.operands[0]->type->packed) {
    const ir::Expression& packed = *expression.operands[0];
    return dialect_.swizzle(types_.unpack(packed.type, whole(base(packed), packed.type)),
                            {expression.swizzle, expression.index});
  }
  if (expression.kind == ExpressionKind::Swizzle && is_loose(*expression.operands[0]))
    return dialect_.swizzle(read(*expression.operands[0]), {expression.swizzle, expression.index});
  Place found = place(expression);
  CText text = whole(found, expression.type);
  if (is_loose(expression))
    text = dialect_.loose_load(expression.type->count, types_.pointed(found.form, expression.type->inner),
                               dialect_.space(found.space), std::move(text));
  return found.form == Form::Memory ? types_.load(expression.type, std::move(text)) : text;
}

CText CFunction::address_of(const ir::Expression& expression) {
  Place object = place(*expression.operands[0]);
  const bool needs_cast = object.is_plain_array || (object.space == Space::Program && dialect_.pointers_lose_const());
  CText address = c_prefix("&", std::move(object.text));
  return needs_cast ? c_cast(types_.value(expression.type), std::move(address)) : address;
}

CText CFunction::decay(const ir::Expression& expression) {
  const ir::Expression& array = *expression.operands[0];
  Place object = place(array);
  const bool needs_cast = (object.is_plain_array && array.type->inner->is_array()) ||
                          (object.space == Space::Program && dialect_.pointers_lose_const());
  CText first = object.is_plain_array ? std::move(object.text) : c_member(std::move(object.text), "v");
  return needs_cast ? c_cast(types_.value(expression.type), std::move(first)) : first;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

std::optional<std::string> CFunction::assignment(const ir::Statement& statement) {
  const ir::Expression& target = *statement.place;
  if (target.kind == ExpressionKind::Swizzle) return std::nullopt;
  if (c_places_is_of_vector(target) && !target.operands[0]->type->packed)
    return component_assignment(target, *statement.value);
  if (auto shorter = in_place(statement)) return shorter;
  const Place place = this->place(target);
  if (is_loose(target))
    return dialect_.loose_store(target.type->count, types_.pointed(place.form, target.type->inner),
                                dialect_.space(place.space), whole(place, target.type),
                                value_for(place.form, *statement.value));
  return whole(place, target.type).text + " = " + value_for(place.form, *statement.value).text;
}

// A float is stored to half memory directly: the store rounds.
CText CFunction::value_for(Form form, const ir::Expression& from) {
  if (form == Form::Value) return value(from);
  if (from.kind == ExpressionKind::Convert && from.type->scalar()->is(TypeKind::Half)) {
    const ir::Expression& wide = *from.operands[0];
    if (!from.type->packed && !wide.type->packed && wide.type->scalar()->is(TypeKind::Float))
      return types_.store(from.type, value(wide));
  }
  return types_.store(from.type, value(from));
}

// x = x + 1 as people write it.
std::optional<std::string> CFunction::in_place(const ir::Statement& statement) {
  const ir::Expression& target = *statement.place;
  const ir::Expression& from = *statement.value;
  if (target.kind != ExpressionKind::Variable || from.kind != ExpressionKind::Binary) return std::nullopt;
  if (from.op >= ir::Operator::Equal || types_.form_of(*target.variable) != Form::Value) return std::nullopt;
  if (from.operands[0]->kind != ExpressionKind::Variable || from.operands[0]->variable != target.variable)
    return std::nullopt;
  const Type* type = target.type;
  if (!type->is_scalar() || type->is(TypeKind::Bool)) return std::nullopt;
  const ir::Expression& by = *from.operands[1];
  const bool is_one = type->is_integer() && by.kind == ExpressionKind::Constant && by.bits == 1;
  if (is_one && from.op == ir::Operator::Add) return "++" + name(*target.variable);
  if (is_one && from.op == ir::Operator::Subtract) return "--" + name(*target.variable);
  return base::format("{} {}= {}", name(*target.variable), operator_sign(from.op), value(by).text);
}

// One component: in memory that others see, no other is touched.
std::string CFunction::component_assignment(const ir::Expression& target, const ir::Expression& from) {
  const ir::Expression& position = *target.operands[1];
  const bool is_constant = c_places_is_constant_index(position);
  if (target.operands[0]->kind == ExpressionKind::Swizzle && !is_constant)
    throw Rejected{target.at,
                   "a component of a swizzle with a variable index cannot be written; use the vector itself"};
  const Components chosen = is_constant ? components(target) : Components{target.operands[0], {}};
  Place vector = place(*chosen.vector);
  CText given = value_for(vector.form, from);
  const bool is_separate = vector.form == Form::Value || !dialect_.has_swizzles();
  CText component =
      is_constant && is_separate
          ? c_member(std::move(vector.text), component_name(chosen.which[0]))
          : dialect_.component_place(types_.spelled(vector.form, target.type), dialect_.space(vector.space),
                                     std::move(vector.text),
                                     is_constant ? CText{std::to_string(chosen.which[0])} : value(position));
  return component.text + " = " + given.text;
}

// Through swizzles of swizzles down to the vector.
CFunction::Components CFunction::components(const ir::Expression& expression) const {
  Components found{&expression, {}};
  for (uint32_t i = 0; i < expression.type->components(); ++i) found.which.push_back(static_cast<uint8_t>(i));
  while (true) {
    const ir::Expression& at = *found.vector;
    if (at.kind == ExpressionKind::Swizzle)
      for (uint8_t& which : found.which) which = at.swizzle[which];
    else if (c_places_is_of_vector(at))
      found.which = {static_cast<uint8_t>(at.operands[1]->bits)};
    else
      return found;
    found.vector = at.operands[0];
  }
}

void CFunction::swizzle_assignment(const ir::Statement& statement) {
  const Components chosen = components(*statement.place);
  const Type* type = statement.place->type;
  Place vector = place(*chosen.vector);
  const bool is_own = vector.form == Form::Value && !chosen.vector->type->packed;
  if (is_own && dialect_.has_swizzles()) {
    const CText target = dialect_.swizzle(std::move(vector.text), chosen.which);
    return line(base::format("{} = {};", target.text, value(*statement.value).text));
  }
  if (chosen.vector->type->packed) vector.form = Form::Memory;
  line("{");
  {
    const Inside inside(*this);
    const std::string from = names_.take("from"), to = names_.take("to");
    const std::string pointer =
        base::format("{}{}*", dialect_.space(vector.space), types_.spelled(vector.form, type->inner));
    line(base::format("{} {} = {};", types_.value(type), from, value(*statement.value).text));
    line(base::format("{0} {1} = ({0})&{2};", pointer, to, std::move(vector.text).in(Binding::Prefix)));
    for (uint32_t i = 0; i < chosen.which.size(); ++i) {
      CText one = c_member({from}, component_name(i));
      if (vector.form == Form::Memory) one = types_.store(type->inner, std::move(one));
      line(base::format("{}[{}] = {};", to, chosen.which[i], one.text));
    }
  }
  line("}");
}

}  // namespace kymo::shader
