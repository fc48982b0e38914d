// Expressions become values: the function for each kind, names, arguments, literals, constants, and parts of objects.

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "shader/ir/evaluate.h"
#include "shader/preprocess/literals.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

constexpr uint32_t kExpressionDepth = 250;  // within a function
constexpr uint32_t kWholeDepth = 1500;      // including those of all functions that are being lowered

}  // namespace

Value Lowering::expression(const ast::Expression& expression, Scope& scope) {
  const DepthGuard guard(expression_depth_, kExpressionDepth, expression.at, "the expression");
  const DepthGuard whole(whole_depth_, kWholeDepth, expression.at, "the whole expression");
  context_.spend_step(expression.at);
  using Kind = ast::ExpressionKind;
  switch (expression.kind) {
    case Kind::Integer:
    case Kind::Float:
    case Kind::Character:
    case Kind::String:
    case Kind::Bool:
    case Kind::Nullptr:
      return literal(expression);
    case Kind::Name:
      return name(expression, scope);
    case Kind::Unary:
      return unary(expression, scope);
    case Kind::Postfix:
      return postfix(expression, scope);
    case Kind::Binary:
      return binary(expression, scope);
    case Kind::Assign:
      return assignment(expression, scope);
    case Kind::Conditional:
      return conditional(expression, scope);
    case Kind::Call:
      return call(expression, scope);
    case Kind::Index: {
      Value of = this->expression(*expression.operands[0], scope);
      const size_t since = mark();
      Value index = this->expression(*expression.operands[1], scope);
      protect_place(of, since);
      if (of.braces != nullptr) throw Rejected{expression.at, "{...} cannot be indexed"};
      if (of.type->is_struct()) {
        Value operands[] = {of, index};
        if (std::optional<Value> found = overloaded("[]", operands, scope, expression.at)) return *found;
        throw Rejected{expression.at, in_quotes(of.type) + " has no operator[] that takes " +
                                          (index.type != nullptr ? in_quotes(index.type) : std::string("{...}"))};
      }
      if (index.braces != nullptr) throw Rejected{expression.at, "an index must be an integer"};
      if (of.type->is_integer() && (index.type->is_array() || index.type->is_pointer())) std::swap(of, index);
      return element(of, index, expression.at);
    }
    case Kind::Member:
      return member(expression, scope);
    case Kind::Cast:
      return cast(expression, scope);
    case Kind::Braces: {
      if (expression.type != nullptr) return cast(expression, scope);
      Value value;
      value.braces = &expression;
      value.braces_scope = &scope;
      return value;
    }
    case Kind::Indexed:
      throw Rejected{expression.at, "only elements of an array can be set by their index"};
    case Kind::Lambda:
      return lambda(expression, scope);
    case Kind::SizeofType: {
      const Type* type = types_.resolve(*expression.type, scope).type;
      if (type == nullptr) throw Rejected{expression.at, "sizeof needs a whole type, not auto"};
      if (type->is(TypeKind::Reference)) type = type->inner;
      types_.class_of(type);
      if (expression.text == "offsetof")
        return rvalue(build(expression.at).constant_uint(offset_in(type, expression.name), TypeKind::ULong));
      return rvalue(
          build(expression.at).constant_uint(expression.text == "alignof" ? type->align : type->size, TypeKind::ULong));
    }
    case Kind::SizeofValue: {
      const Type* type = type_of(*expression.operands[0], scope);
      return rvalue(build(expression.at).constant_uint(type->size, TypeKind::ULong));
    }
    case Kind::SizeofPack:
      return rvalue(
          build(expression.at)
              .constant_uint(templates_.pack_size(expression.name.last().name, scope, expression.at), TypeKind::ULong));
    case Kind::TypeTrait:
      return rvalue(build(expression.at).constant_bool(type_trait(expression, scope)));
    case Kind::Fold:
      return fold(expression, scope);
  }
  throw Rejected{expression.at, "this expression is not supported"};
}

uint64_t Lowering::offset_in(const Type* type, const ast::Name& members) {
  uint64_t offset = 0;
  for (const ast::NamePart& part : members.parts) {
    uint32_t index = 0;
    const Field* field = types_.find_field(type, part.name, index);
    if (field == nullptr)
      throw Rejected{part.at, in_quotes(type) + " has no member " + in_quotes(part.name) + " of its own for offsetof"};
    offset += field->offset;
    type = field->type;
  }
  return offset;
}

// ---- Names ---------------------------------------------------------------------------------------------------------

Value Lowering::name(const ast::Expression& expression, Scope& scope) {
  const ast::NamePart& part = expression.name.last();
  const Location at = part.at.line != 0 ? part.at : expression.at;
  if (expression.name.parts.size() == 1 && !expression.name.from_global) {
    if (part.name == "this") {
      if (!body_.self) throw Rejected{at, "there is no \"this\" here: the function is not a member"};
      return rvalue(address(*body_.self, at));
    }
    if (part.name == "__func__" || part.name == "__FUNCTION__" || part.name == "__PRETTY_FUNCTION__") {
      const std::string_view called =
          body_.instance != nullptr && body_.instance->declaration != nullptr ? body_.instance->declaration->name : "";
      return text_value(called, at);
    }
  }
  const std::vector<const Symbol*> found = lookup_.find(expression.name, scope, at);
  if (found.empty()) {
    if (is_builtin(part.name)) return function_object(expression.name, found, scope, at);
    throw Rejected{at, "there is no name " + in_quotes(part.name) + " here" + lookup_.suggestion(part.name, scope)};
  }
  const Symbol& symbol = *found.front();
  const auto is_pack = [&] {
    return Rejected{
        at, in_quotes(part.name) + " is a pack: write " + std::string(part.name) + "... where a list is allowed"};
  };
  switch (symbol.kind) {
    case Symbol::Kind::Local: {
      if (symbol.value == nullptr) throw Rejected{at, ""};  // its declaration failed, which was reported
      const Value& value = *symbol.value;
      if (value.home != nullptr && value.home != body_.instance && value.is_place && value.space != Space::Program) {
        throw Rejected{at,
                       in_quotes(part.name) + " is a variable of the enclosing function: the lambda must capture it"};
      }
      return value;
    }
    case Symbol::Kind::Enumerator:
      return rvalue(types_.enumerator(symbol, at));
    case Symbol::Kind::Argument:
      if (symbol.argument.kind == TemplateArgument::Kind::Value) {
        return rvalue(symbol.argument.value);
      }
      if (symbol.argument.kind == TemplateArgument::Kind::Pack) throw is_pack();
      throw Rejected{at, in_quotes(part.name) + " is a type: a value is needed here"};
    case Symbol::Kind::Variable:
      if (part.has_arguments || symbol.declaration->is_template) {
        return variable_template(symbol, templates_.evaluate_arguments(part.arguments, scope), at);
      }
      if (symbol.owner != nullptr && !symbol.declaration->is_static) {
        if (!body_.is_unevaluated || expression.name.parts.size() == 1) return self_member(symbol, at);
        Value object = unevaluated(symbol.owner->type, at);  // decltype(S::x)
        if (std::optional<Value> found = field_of(object, symbol.name, at)) return *found;
      }
      return variable(symbol, at);
    case Symbol::Kind::LocalPack:
      throw is_pack();
    case Symbol::Kind::Function:
      return function_object(expression.name, found, scope, at);
    case Symbol::Kind::Type:
      throw Rejected{at, in_quotes(part.name) + " is a type: a value is needed here"};
    case Symbol::Kind::Namespace:
      throw Rejected{at, in_quotes(part.name) + " is a namespace: a value is needed here"};
  }
  throw Rejected{at, "there is no value " + in_quotes(part.name) + " here"};
}

std::vector<Value> Lowering::arguments(std::span<const ast::Expression* const> list, Scope& scope) {
  std::vector<Value> values;
  values.reserve(list.size());
  const auto add = [&](const ast::Expression& item, Scope& in) {
    const size_t since = mark();
    Value value = expression(item, in);
    if (is_void(value)) throw Rejected{item.at, "an argument is void: a value is needed here"};
    protect_places(values, since);
    values.push_back(value);
  };
  for (const ast::Expression* item : list) {
    if (!item->is_expansion) {
      add(*item, scope);
      continue;
    }
    for (Scope* element : templates_.expansions(item, nullptr, scope, item->at)) add(*item, *element);
  }
  return values;
}

const Type* Lowering::type_of(const ast::Expression& expression, Scope& scope, bool* is_place) {
  const Restore<Body> restore(body_);
  ir::Block thrown_away;
  body_.block = &thrown_away;
  body_.is_unevaluated = true;
  const Value value = this->expression(expression, scope);
  if (value.braces != nullptr || value.type == nullptr) throw Rejected{expression.at, "{...} has no type here"};
  if (is_place != nullptr) *is_place = value.is_place;
  return value.type;
}

// ---- Literals -------------------------------------------------------------------------------------------------------

// Literals: numbers, characters and texts. Metal has no double: 1.0 is a float.

namespace {

struct FloatLiteral {
  float value = 0;
  TypeKind kind = TypeKind::Float;
};

FloatLiteral literals_float(std::string_view text) {
  FloatLiteral literal;
  std::string digits;
  for (const char letter : text) {
    if (letter != '\'') digits += letter;
  }
  const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
  const auto ends = [&](std::string_view suffix) {
    if (digits.size() <= suffix.size() || !digits.ends_with(suffix)) return false;
    digits.resize(digits.size() - suffix.size());
    return true;
  };
  // In a hexadecimal number f and b are digits until the exponent, which a hexadecimal float always has.
  if (ends("bf") || ends("BF")) {
    literal.kind = TypeKind::BFloat;
  } else if (ends("h") || ends("H")) {
    literal.kind = TypeKind::Half;
  } else if (!ends("f") && !ends("F") && !ends("l")) {
    ends("L");
  }
  const char* first = digits.data() + (is_hex ? 2 : 0);
  const char* last = digits.data() + digits.size();
  const auto result =
      std::from_chars(first, last, literal.value, is_hex ? std::chars_format::hex : std::chars_format::general);
  // Out of range: infinity or zero, as strtof returns it.
  if (result.ec == std::errc::result_out_of_range) literal.value = std::strtof(digits.c_str(), nullptr);
  return literal;
}

}  // namespace

Value Lowering::literal(const ast::Expression& expression) {
  ir::Builder& make = build(expression.at);
  using Kind = ast::ExpressionKind;
  switch (expression.kind) {
    case Kind::Integer: {
      const std::optional<IntegerValue> number = integer_value(expression.text);
      if (!number) throw Rejected{expression.at, "the number " + in_quotes(expression.text) + " does not fit 64 bits"};
      const uint64_t value = number->value;
      // Decimal literals without a suffix become int or long; others may become unsigned before they become long.
      const bool is_decimal = expression.text.size() < 2 || expression.text[0] != '0';
      TypeKind kind = TypeKind::Int;
      const bool fits_int = value <= 0x7fffffffu, fits_uint = value <= 0xffffffffu,
                 fits_long = value <= 0x7fffffffffffffffu;
      if (number->is_unsigned && fits_long == false) {
        kind = TypeKind::ULong;
      } else if (number->is_unsigned) {
        kind = fits_uint && !number->is_long ? TypeKind::UInt : TypeKind::ULong;
      } else if (!number->is_long && fits_int) {
        kind = TypeKind::Int;
      } else if (!number->is_long && !is_decimal && fits_uint) {
        kind = TypeKind::UInt;
      } else {
        kind = fits_long ? TypeKind::Long : TypeKind::ULong;
      }
      Value literal = rvalue(make.constant_uint(value, kind));
      literal.is_literal_zero = value == 0;
      return literal;
    }
    case Kind::Float: {
      const FloatLiteral literal = literals_float(expression.text);
      return rvalue(make.constant_float(literal.value, literal.kind));
    }
    case Kind::Character: {
      const std::optional<char> value = character_value(expression.text);
      if (!value)
        throw Rejected{expression.at, "the character " + std::string(expression.text) + " is not one character"};
      return rvalue(make.constant_int(static_cast<signed char>(*value), TypeKind::Char));
    }
    case Kind::Bool:
      return rvalue(make.constant_bool(expression.flag));
    case Kind::Nullptr: {
      Value null = rvalue(make.null(table_.pointer(table_.get(TypeKind::Void), Space::Thread)));
      null.is_null = true;
      return null;
    }
    default:
      return text_value(expression.text, expression.at);
  }
}

Value Lowering::text_value(std::string_view text, Location at) {
  Value value = rvalue(build(at).variable(text_constant(text)));
  value.is_place = value.is_const = true;
  value.space = Space::Program;
  return value;
}

const ir::Variable& Lowering::text_constant(std::string_view text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return *known->second;
  const Type* letter = table_.get(TypeKind::Char);
  ir::Variable& made =
      module_.make_variable("text", table_.array(letter, static_cast<uint32_t>(text.size() + 1)), Space::Program);
  made.value = text_array(made.type, text, {});
  module_.constants.push_back(&made);
  texts_.emplace(std::string(text), &made);
  return made;
}

const ir::Expression* Lowering::text_array(const Type* type, std::string_view text, Location at) {
  if (text.size() > type->count) {
    throw Rejected{at,
                   "the text has " + std::to_string(text.size()) + " characters: " + in_quotes(type) + " is too short"};
  }
  std::vector<const ir::Expression*> letters;
  letters.reserve(type->count);
  for (uint32_t i = 0; i < type->count; ++i) {
    const auto letter = static_cast<unsigned char>(i < text.size() ? text[i] : '\0');
    letters.push_back(build(at).constant_uint(letter, type->inner->kind));
  }
  return build(at).construct(type, std::move(letters));
}

// ---- Constants ------------------------------------------------------------------------------------------------------

// Values that must be known during the translation.

namespace {

// `budget`: the number of expressions to look at, because an expression may be part of several.
bool divides_by_zero(const ir::Expression& value, int& budget) {
  if (--budget < 0) return false;
  const bool divides = value.kind == ir::ExpressionKind::Binary && value.type->is_integer() &&
                       (value.op == ir::Operator::Divide || value.op == ir::Operator::Remainder);
  if (divides && value.operands[1]->kind == ir::ExpressionKind::Constant && value.operands[1]->bits == 0) return true;
  return std::ranges::any_of(value.operands,
                             [&](const ir::Expression* each) { return divides_by_zero(*each, budget); });
}

}  // namespace

Rejected Lowering::not_constant(std::string_view what, const ir::Expression* value, Location at) {
  int budget = 1000;
  if (value != nullptr && divides_by_zero(*value, budget)) return {at, std::string(what) + " divides by zero"};
  return {at, std::string(what) + " must be known when the shader is translated"};
}

const ir::Expression* Lowering::evaluated(const ir::Expression* value, const ir::Block& statements) {
  if (statements.empty() && value->kind == ir::ExpressionKind::Constant) return value;
  return ir::evaluate_to_expression(module_, statements, *value, &steps_);
}

const ir::Expression* Lowering::constant(const ast::Expression& expression, Scope& scope, std::string_view what) {
  ir::Block statements;
  const ir::Expression* value = nullptr;
  {
    const Restore<bool> effects(body_.has_effects);
    const Restore<bool> unevaluated(body_.is_unevaluated);
    body_.is_unevaluated = false;
    const Into into(*this, statements);
    Value lowered = this->expression(expression, scope);
    if (lowered.type == nullptr || !lowered.type->is_enum()) lowered = number_of(lowered, expression.at);
    if (is_void(lowered)) throw Rejected{expression.at, std::string(what) + " has no value: it is void"};
    value = read(lowered);
  }
  const ir::Expression* known = evaluated(value, statements);
  if (known == nullptr) throw not_constant(what, value, expression.at);
  if (known->kind == ir::ExpressionKind::Zero && known->type->is_scalar())
    return build(expression.at).constant(known->type, 0);
  return known;
}

uint64_t Lowering::constant_integer(const ast::Expression& expression, Scope& scope, std::string_view what) {
  const ir::Expression* value = constant(expression, scope, what);
  if (value->kind != ir::ExpressionKind::Constant || value->type->is_floating()) {
    throw Rejected{expression.at, std::string(what) + " must be an integer, and is " + in_quotes(value->type)};
  }
  return value->bits;
}

bool Lowering::constant_bool(const ast::Expression& expression, Scope& scope, std::string_view what) {
  const ir::Expression* value = constant(expression, scope, what);
  if (value->kind != ir::ExpressionKind::Constant) {
    throw Rejected{expression.at, std::string(what) + " must be a bool, and is " + in_quotes(value->type)};
  }
  return convert_number(value, table_.get(TypeKind::Bool), expression.at)->bits != 0;
}

std::vector<Value> Lowering::values_of(std::span<const ast::Expression* const> list, Scope& scope) {
  ir::Block ignored;
  const Into into(*this, ignored);
  return arguments(list, scope);
}

// ---- Members and elements -------------------------------------------------------------------------------------------

// Parts of objects: fields, components, elements, and the targets of pointers.
//
// The members of a union are views of its words: code_writer.cc.

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

}  // namespace

std::optional<Value> Lowering::field_of(const Value& object, std::string_view name, Location at) {
  uint32_t index = 0;
  const Class* const whole = types_.class_of(object.type);
  if (whole != nullptr && whole->in_words) {
    for (const Member& member : whole->members) {
      if (member.name == name) return view_or_word(union_member(object, member.type, at));
      if (!is_unnamed_field(member.name)) continue;
      if (std::optional<Value> found = field_of(union_member(object, member.type, at), name, at)) return found;
    }
    return std::nullopt;
  }
  const Field* field = types_.find_field(object.type, name, index);
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
  Value part = members_part(object, build(at).member(object.ir, index));
  const ast::Declaration* declared = whole->is_closure ? nullptr : field_declaration(*whole, name);
  const bool is_reference = declared != nullptr && declared->type->form == ast::TypeForm::Reference;
  if (declared != nullptr && declared->is_mutable && part.is_place && part.is_const && !is_read_only(part.space))
    part = place_at(build(at).pointer_cast(table_.pointer(part.type, part.space), address(part, at)), false);
  return is_reference ? place_at(part.ir, part.type->is_const) : part;
}

bool Lowering::has_mutable_members(const Type* type) {
  while (type->is_array()) type = type->inner;
  const Class* made = types_.class_of(type);
  if (made == nullptr || made->is_closure) return false;
  return std::ranges::any_of(made->members, [&](const Member& member) {
    const ast::Declaration* declared = field_declaration(*made, member.name);
    return (declared != nullptr && declared->is_mutable) || has_mutable_members(member.type);
  });
}

Value Lowering::member_place(const Value& object, const Member& member, Location at) {
  const Class& owner = *types_.class_of(object.type);
  if (member.field == Member::kNoField) {  // the base is where the object is
    if (!object.is_place || object.in_words) return rvalue(build(at).zero(member.type), member.type);
    const bool is_const = object.is_const || is_read_only(object.space);
    return place_at(build(at).pointer_cast(table_.pointer(member.type, object.space, is_const), address(object, at)),
                    is_const);
  }
  if (owner.in_words) return *field_of(object, member.name, at);
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
  if (of.type->is_array() || of.type->is_vector()) {
    if (position.ir->kind == ir::ExpressionKind::Constant && position.ir->bits >= of.type->count) {
      throw Rejected{at, "the index " + std::to_string(static_cast<int64_t>(position.ir->bits)) +
                             " is out of range: " + in_quotes(of.type) + " has " + std::to_string(of.type->count)};
    }
    if (of.in_words) return view_or_word(view_element(of, position.ir, at));
    const Value whole = of.is_place || of.type->is_vector() ? of : keep(of, "array");
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
  const Value whole = of.in_words ? load(of) : of;
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
  throw Rejected{part.at, "there is no member " + in_quotes(part.name) + " in " + in_quotes(object.type) +
                              lookup_.suggestion_in(part.name, *owner->scope)};
}

}  // namespace kymo::shader
