// New objects: without a value, from a value, from arguments, from {…}, and copies of other objects.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

constexpr uint32_t kMaxSplat = 65536;  // elements of an array that are constructed one by one

}  // namespace

bool Lowering::has_constructors(const Class& made) const { return !made.scope->own(kConstructorName).empty(); }

const ast::Declaration* Lowering::field_declaration(const Class& owner, std::string_view name) const {
  for (const Symbol* symbol : owner.scope->own(name)) {
    if (symbol->kind == Symbol::Kind::Variable && symbol->declaration != nullptr && !symbol->declaration->is_static) {
      return symbol->declaration;
    }
  }
  return nullptr;
}

bool Lowering::has_defaults(const Class& made) {
  if (has_constructors(made)) return true;
  for (Class* base : made.bases) {
    if (has_defaults(*base)) return true;
  }
  if (made.in_words) return false;
  for (size_t i = made.bases.size(); i < made.members.size(); ++i) {
    const ast::Declaration* declared = field_declaration(made, made.members[i].name);
    if (declared != nullptr && declared->initializer != nullptr) return true;
    const Type* type = made.members[i].type;
    while (type->is_array()) type = type->inner;
    const Class* inner = types_.class_of(type);
    if (inner != nullptr && has_defaults(*inner)) return true;
  }
  return false;
}

const ir::Expression* Lowering::field_default(Class& owner, uint32_t index, Location at) {
  const Member& field = owner.members[index];
  const ast::Declaration* declared = index < owner.bases.size() ? nullptr : field_declaration(owner, field.name);
  if (declared == nullptr || declared->initializer == nullptr) return default_value(field.type, at);
  return initialize({.type = field.type}, *declared, *owner.scope);
}

const ir::Expression* Lowering::default_value(const Type* type, Location at) {
  if (type->is_array()) {
    const Type* element = type->inner;
    while (element->is_array()) element = element->inner;
    const Class* made = types_.class_of(element);
    if (made == nullptr || !has_defaults(*made)) return nullptr;
    if (type->count > kMaxSplat) throw Rejected{at, in_quotes(type) + " has too many elements to construct"};
    const ir::Expression* each = default_value(type->inner, at);
    for (uint32_t i = 0; i < type->count; ++i) count_part(at);
    return build(at).construct(type, std::vector<const ir::Expression*>(type->count, settle(each)));
  }
  Class* made = types_.class_of(type);
  if (made != nullptr && has_defaults(*made)) return construct_class(*made, {}, at);
  return nullptr;
}

const ir::Expression* Lowering::initialize(const QualifiedType& type, const ast::Declaration& declaration,
                                           Scope& scope) {
  const Location at = declaration.initializer != nullptr ? declaration.initializer->at : declaration.at;
  const std::string what = "the value of " + in_quotes(declaration.name);
  if (declaration.direct) {
    const std::vector<Value> given = arguments(declaration.direct_arguments, scope);
    if (type.type->is(TypeKind::Reference) && given.size() == 1) return convert(given[0], type, at, what);
    return construct(type.type, given, at);
  }
  if (declaration.initializer == nullptr) {
    if (type.type->is(TypeKind::Reference))
      throw Rejected{at, "the reference " + in_quotes(declaration.name) + " needs something to refer to"};
    return default_value(type.type, at);
  }
  const ast::Expression& initializer = *declaration.initializer;
  if (initializer.kind == ast::ExpressionKind::Braces && initializer.type == nullptr &&
      !type.type->is(TypeKind::Reference)) {
    return from_braces(type.type, initializer, scope);
  }
  if (initializer.kind == ast::ExpressionKind::String && type.type->is_array())
    return text_array(type.type, initializer.text, at);
  const Value value = expression(initializer, scope);
  if (is_void(value)) throw Rejected{at, what + " is void"};
  return convert(value, type, at, what);
}

// ---- From arguments ------------------------------------------------------------------------------------------------

const ir::Expression* Lowering::construct(const Type* wanted, std::span<const Value> given, Location at) {
  const Type* type = plain(wanted);
  if (Class* made = types_.class_of(type)) return construct_class(*made, given, at);
  if (given.empty()) {
    if (type->is(TypeKind::Void)) throw Rejected{at, "void has no values"};
    return build(at).zero(type);
  }
  if (type->is_vector()) return construct_vector(type, given, at);
  if (given.size() == 1) return read(cast_to(QualifiedType{.type = type}, given[0], "", at));
  throw Rejected{at, in_quotes(type) + " takes one value: " + std::to_string(given.size()) + " are given"};
}

const ir::Expression* Lowering::construct_class(Class& made, std::span<const Value> given, Location at) {
  if (given.size() == 1 && given[0].type != nullptr) {
    Class* from = types_.class_of(given[0].type);
    if (from == &made) return copied(given[0], at);
    if (from != nullptr && types_.is_derived(*from, made)) return copied(base_of(given[0], made, at), at);
  }
  const QualifiedType wanted{.type = made.type};
  const auto is_converted = [&] {  // from another struct
    return given.size() == 1 && given[0].type != nullptr && given[0].type->is_struct() &&
           overloads_.rank(given[0], wanted) != Rank::Impossible;
  };
  if (has_constructors(made)) {
    const auto constructors = made.scope->own(kConstructorName);
    OverloadSet set{.name = kConstructorName,
                    .candidates = {constructors.begin(), constructors.end()},
                    .at = at,
                    .is_qualified = true};
    std::optional<Chosen> chosen = overloads_.try_choose(set, given);
    if (!chosen && is_converted()) return convert(given[0], wanted, at, "the value");
    if (!chosen && given.empty() && !has_default_constructor(made)) {
      throw Rejected{at, in_quotes(made.type) + " has no constructor without arguments: give it some"};
    }
    return read(call(chosen ? *chosen : overloads_.choose(set, given), std::nullopt, given, at));
  }
  if (!given.empty()) {
    if (is_converted()) return convert(given[0], wanted, at, "the value");
    size_t next = 0;
    const ir::Expression* value = aggregate(made.type, given, next, at);
    if (next < given.size()) {
      throw Rejected{
          at, in_quotes(made.type) + " has fewer members than the " + std::to_string(given.size()) + " values given"};
    }
    return value;
  }
  if (!has_defaults(made)) return build(at).zero(made.type);
  size_t next = 0;
  return aggregate(made.type, {}, next, at);
}

bool Lowering::has_default_constructor(const Class& made) const {
  return std::ranges::any_of(made.scope->own(kConstructorName), [](const Symbol* constructor) {
    return std::ranges::all_of(constructor->declaration->parameters, [](const ast::Declaration* parameter) {
      return parameter->initializer != nullptr || parameter->is_variadic;
    });
  });
}

const ir::Expression* Lowering::construct_vector(const Type* type, std::span<const Value> given, Location at) {
  if (given.size() == 1) {
    Value only = given[0];
    if (only.braces != nullptr) return from_braces(type, *only.braces, *only.braces_scope);
    only = number_of(only, at);
    const uint32_t count = only.type->components();
    if (!only.type->is_number() || (only.type->is_vector() && count != type->count)) {
      throw Rejected{at, "cannot make " + in_quotes(type) + " from " + in_quotes(only.type)};
    }
    return as_number(only, type, at);
  }
  std::vector<const ir::Expression*> parts;
  uint32_t count = 0;
  for (const Value& each : given) {
    const Value part = load(number_of(each, at));
    if (!part.type->is_number()) throw Rejected{at, "cannot make " + in_quotes(type) + " from " + in_quotes(part.type)};
    count += part.type->components();
    parts.push_back(convert_number(part.ir, table_.with_scalar(part.type, type->inner), at));
  }
  if (count != type->count) {
    throw Rejected{at, in_quotes(type) + " has " + std::to_string(type->count) +
                           " components: " + std::to_string(count) + " are given"};
  }
  return build(at).construct(type, std::move(parts));
}

// ---- Braces ---------------------------------------------------------------------------------------------------------

// {…}: its meaning depends on the type of the object. Inner braces of aggregates may be omitted, as in C++.

namespace {

constexpr uint32_t kMaxListed = 65536;              // elements of an array in an initializer
constexpr uint64_t kMaxInitializerParts = 500'000;  // of all initializers of a translation

bool braces_has_index(const ast::Expression& braces) {
  return std::ranges::any_of(braces.operands,
                             [](const ast::Expression* item) { return item->kind == ast::ExpressionKind::Indexed; });
}

}  // namespace

const ir::Expression* Lowering::from_braces(const Type* wanted, const ast::Expression& braces, Scope& scope) {
  const Location at = braces.at;
  const Type* type = plain(wanted);
  if (type->is_array() && braces.operands.size() == 1 && braces.operands[0]->kind == ast::ExpressionKind::String) {
    return text_array(type, braces.operands[0]->text, at);
  }
  if (!braces.fields.empty()) return designated(type, braces, scope);
  if (type->is_array() && braces_has_index(braces)) return indexed(type, braces, scope);
  const std::vector<Value> items = arguments(braces.operands, scope);
  Class* made = types_.class_of(type);
  if (made != nullptr && (has_constructors(*made) || items.empty())) return construct_class(*made, items, at);
  if (type->is_array() && items.empty()) {
    const ir::Expression* value = default_value(type, at);
    return value != nullptr ? value : build(at).zero(type);
  }
  if (made == nullptr && !type->is_array()) {
    if (items.size() == 1 && items[0].braces != nullptr && !type->is_vector()) {
      return from_braces(type, *items[0].braces, *items[0].braces_scope);
    }
    if (items.size() == 1 && type->is_enum() && items[0].type->is_integer() && !items[0].type->is_enum())
      return as_number(items[0], type, at);
    if (items.size() == 1 && !type->is_vector())
      return convert(items[0], QualifiedType{.type = type}, at, "the value in {...}");
    // The last components of a vector may be omitted: they are 0.
    std::vector<Value> components = items;
    if (type->is_vector() && items.size() > 1) {
      uint32_t count = 0;
      for (const Value& item : items) count += item.type != nullptr ? item.type->components() : 1;
      for (; count < type->count; ++count) components.push_back(rvalue(build(at).zero(type->inner)));
    }
    return construct(type, components, at);
  }
  // {x} of the same struct is a copy.
  if (made != nullptr && items.size() == 1 && items[0].type != nullptr && items[0].type->is_struct()) {
    const Class* from = types_.class_of(items[0].type);
    if (from == made || types_.is_derived(*from, *made)) return construct_class(*made, items, at);
  }
  size_t next = 0;
  const ir::Expression* value = aggregate(type, items, next, at);
  if (next < items.size()) {
    throw Rejected{at, "{...} has " + std::to_string(items.size()) + " values: " + in_quotes(type) + " takes only " +
                           std::to_string(next)};
  }
  return value;
}

const ir::Expression* Lowering::aggregate(const Type* type, std::span<const Value> items, size_t& next, Location at) {
  const DepthGuard guard(expression_depth_, 250, at, "the initializer");
  std::vector<const ir::Expression*> parts;
  const auto add = [&](auto&& work) {
    const size_t since = mark();
    const ir::Expression* part = work();
    settle_all(parts, since);
    count_part(at);
    parts.push_back(part);
  };
  if (type->is_array()) {
    if (type->count > kMaxListed) throw Rejected{at, in_quotes(type) + " is too large for an initializer"};
    const ir::Expression* rest = nullptr;
    for (uint32_t i = 0; i < type->count; ++i) {
      if (next < items.size()) {
        add([&] { return aggregate_part(type->inner, items, next, at); });
        continue;
      }
      if (rest == nullptr) {
        rest = default_value(type->inner, at);
        rest = rest == nullptr ? build(at).zero(plain(type->inner)) : settle(rest);
      }
      count_part(at);
      parts.push_back(rest);
    }
    return build(at).construct(type, std::move(parts));
  }
  Class& made = *types_.class_of(type);
  if (made.in_words)
    return next < items.size() ? union_of(type, made.members[0], items[next++], at) : build(at).zero(type);
  for (uint32_t i = 0; i < made.members.size(); ++i) {
    const Type* field = made.members[i].type;
    if (next < items.size()) {
      const ast::Declaration* declared =
          i < made.bases.size() ? nullptr : field_declaration(made, made.members[i].name);
      const bool is_reference =
          declared != nullptr && declared->type != nullptr && declared->type->form == ast::TypeForm::Reference;
      if (is_reference) {
        const Type* reference = table_.reference(field->inner, field->space, field->is_const);
        add([&] {
          return convert(items[next++], QualifiedType{.type = reference}, at,
                         "the member " + in_quotes(made.members[i].name));
        });
      } else {
        add([&] { return aggregate_part(field, items, next, at); });
      }
      continue;
    }
    add([&] {
      const ir::Expression* value = field_default(made, i, at);
      return value != nullptr ? value : build(at).zero(plain(field));
    });
  }
  return composed(made, std::move(parts), at);
}

// A struct of the values of its members.
const ir::Expression* Lowering::composed(const Class& made, std::vector<const ir::Expression*> parts, Location at) {
  std::vector<const ir::Expression*> fields;
  for (size_t i = 0; i < parts.size(); ++i)
    if (made.members[i].field != Member::kNoField) fields.push_back(parts[i]);
  return build(at).construct(made.type, std::move(fields));
}

// A union that is stored in words, with a value in one of its members.
const ir::Expression* Lowering::union_of(const Type* type, const Member& member, const Value& value, Location at) {
  const ir::Expression* given = value.braces != nullptr
                                    ? from_braces(member.type, *value.braces, *value.braces_scope)
                                    : convert(value, {.type = plain(member.type)}, at, "the value in {...}");
  ir::Variable& made = local("value", type, build(at).zero(type), at);
  Value whole = variable_place(made, at);
  assign(member_place(whole, member, at), given, at);
  return build(at).variable(made);
}

// {[2] = 1, 5, [6 ... 9] = 3}: a value without an index follows the one before it; the others get their defaults.
const ir::Expression* Lowering::indexed(const Type* type, const ast::Expression& braces, Scope& scope) {
  const Location at = braces.at;
  if (type->count > kMaxListed) throw Rejected{at, in_quotes(type) + " is too large for an initializer"};
  std::vector<const ir::Expression*> parts(type->count, nullptr);
  uint64_t next = 0;
  for (const ast::Expression* item : braces.operands) {
    const auto [first, last] = indices(*item, next, scope);
    if (last >= type->count)
      throw Rejected{item->at, "the index " + std::to_string(static_cast<int64_t>(last)) +
                                   " is out of range: " + in_quotes(type) + " has " + std::to_string(type->count)};
    const size_t since = mark();
    const bool has_index = item->kind == ast::ExpressionKind::Indexed;
    const std::vector<Value> given = {expression(has_index ? *item->operands[0] : *item, scope)};
    size_t used = 0;
    const ir::Expression* part = settle(aggregate_part(type->inner, given, used, at));
    std::vector<const ir::Expression*> earlier;
    for (const ir::Expression* each : parts)
      if (each != nullptr) earlier.push_back(each);
    settle_all(earlier, since);
    auto settled = earlier.begin();
    for (const ir::Expression*& each : parts)
      if (each != nullptr) each = *settled++;
    for (uint64_t i = first; i <= last; ++i) {
      count_part(at);
      parts[i] = part;
    }
    next = last + 1;
  }
  const ir::Expression* rest = default_value(type->inner, at);
  rest = rest == nullptr ? build(at).zero(plain(type->inner)) : settle(rest);
  for (const ir::Expression*& part : parts)
    if (part == nullptr) part = rest;
  return build(at).construct(type, std::move(parts));
}

std::pair<uint64_t, uint64_t> Lowering::indices(const ast::Expression& item, uint64_t next, Scope& scope) {
  if (item.kind != ast::ExpressionKind::Indexed) return {next, next};
  const uint64_t first = constant_integer(*item.operands[1], scope, "the index");
  const uint64_t last = item.operands.size() > 2 ? constant_integer(*item.operands[2], scope, "the index") : first;
  if (last < first)
    throw Rejected{item.at, "the indices " + std::to_string(first) + " ... " + std::to_string(last) + " are no range"};
  return {first, last};
}

// {.x = 1, .z = 2}: the others get their defaults.
const ir::Expression* Lowering::designated(const Type* type, const ast::Expression& braces, Scope& scope) {
  const Location at = braces.at;
  Class* made = types_.class_of(type);
  if (made == nullptr || has_constructors(*made))
    throw Rejected{at, in_quotes(type) + " is not a struct without constructors: its values cannot be set by name"};
  const std::vector<Value> items = arguments(braces.operands, scope);
  const bool in_words = made->in_words;
  const std::vector<Member>& fields = made->members;
  std::vector<const ir::Expression*> parts;
  size_t next = 0;
  for (uint32_t i = 0; i < fields.size(); ++i) {
    const bool is_given = next < items.size() && braces.fields[next] == fields[i].name;
    if (in_words) {
      if (!is_given) continue;
      if (items.size() > 1) throw Rejected{at, "only one member of the union " + in_quotes(type) + " can be set"};
      return union_of(type, fields[i], items[0], at);
    }
    const size_t since = mark();
    const ir::Expression* part = nullptr;
    if (is_given) {
      part = aggregate_part(fields[i].type, items, next, at);
    } else {
      part = field_default(*made, i, at);
      if (part == nullptr) part = build(at).zero(plain(fields[i].type));
    }
    settle_all(parts, since);
    count_part(at);
    parts.push_back(part);
  }
  if (next < items.size())
    throw Rejected{at, in_quotes(type) + " has no member " + in_quotes(braces.fields[next]) +
                           " after those that were set before it: name the members in their order"};
  return composed(*made, std::move(parts), at);
}

// A short initializer may have many parts: with nested structs and defaults, their number grows exponentially.
void Lowering::count_part(Location at) {
  if (++parts_ > kMaxInitializerParts)
    throw Rejected{at, "the initializers have too many parts in all: assign them in loops"};
}

// One element or member: one value, or as many values as an aggregate needs.
const ir::Expression* Lowering::aggregate_part(const Type* type, std::span<const Value> items, size_t& next,
                                               Location at) {
  const Value& item = items[next];
  if (item.braces != nullptr) {
    ++next;
    return from_braces(type, *item.braces, *item.braces_scope);
  }
  const QualifiedType wanted{.type = plain(type)};
  const Class* made = types_.class_of(type);
  if (type->is_array() && item.type->is_array() && item.space == Space::Program &&
      item.ir->kind == ir::ExpressionKind::Variable && item.type->inner == type->inner &&
      item.ir->variable->value != nullptr && type->inner->size == 1) {
    // a text inside: char names[2][8] = {"a", "b"}
    ++next;
    ir::Operands letters = item.ir->variable->value->operands;
    while (letters.size() < type->count) letters.push_back(build(at).zero(type->inner));
    letters.resize(type->count);
    return build(at).construct(type, std::move(letters));
  }
  const bool is_aggregate = type->is_array() || (made != nullptr && !has_constructors(*made));
  if (is_aggregate && (type->is_array() || overloads_.rank(item, wanted) == Rank::Impossible))
    return aggregate(type, items, next, at);
  ++next;
  return convert(item, wanted, at, "the value in {...}");
}

const Type* Lowering::sized(const Type* type, const ast::Declaration& declaration, Scope& scope) {
  if (!type->is_array() || type->count != 0) return type;
  const ast::Expression* initializer = declaration.initializer;
  if (initializer == nullptr)
    throw Rejected{declaration.at, "the array " + in_quotes(declaration.name) + " needs a size or values"};
  if (initializer->kind == ast::ExpressionKind::String) {
    return table_.array(type->inner, static_cast<uint32_t>(initializer->text.size() + 1));
  }
  if (initializer->kind != ast::ExpressionKind::Braces) {
    throw Rejected{declaration.at, "the array " + in_quotes(declaration.name) + " needs a size, or values in {...}"};
  }
  uint64_t count = 0;
  if (braces_has_index(*initializer)) {
    uint64_t next = 0;
    for (const ast::Expression* item : initializer->operands) {
      next = indices(*item, next, scope).second + 1;
      count = std::max(count, next);
    }
    if (count == 0 || count > kMaxListed)
      throw Rejected{declaration.at, "the array " + in_quotes(declaration.name) + " is too large for an initializer"};
    return table_.array(type->inner, static_cast<uint32_t>(count));
  }
  for (const ast::Expression* item : initializer->operands) {
    count += item->is_expansion ? templates_.expansions(item, nullptr, scope, item->at).size() : 1;
  }
  // Values without inner braces fill the elements in order.
  const Type* element = type->inner;
  uint64_t each = 1;
  const bool has_braces =
      !initializer->operands.empty() && initializer->operands[0]->kind == ast::ExpressionKind::Braces;
  while (element->is_array() && !has_braces) {
    each *= element->count;
    element = element->inner;
  }
  count = (count + each - 1) / each;
  if (count == 0) throw Rejected{declaration.at, "the array " + in_quotes(declaration.name) + " has no elements"};
  return table_.array(type->inner, static_cast<uint32_t>(count));
}

// ---- Copies ---------------------------------------------------------------------------------------------------------

// Copies of objects: by the copy constructor or operator= of the source, if their struct has one, or one of its
// members.
//
// A value that is not a place was made for this use, and is not copied again, as in C++17.

// S(thread const S&), also with more parameters that have defaults; no template.
bool Lowering::is_copy_constructor(const Symbol& constructor) {
  const ast::Declaration& declaration = *constructor.declaration;
  if (declaration.is_template || declaration.is_defaulted || declaration.parameters.empty()) return false;
  const ast::TypeName* first = declaration.parameters[0]->type;
  if (first == nullptr || first->form != ast::TypeForm::Reference) return false;
  if (!std::all_of(declaration.parameters.begin() + 1, declaration.parameters.end(),
                   [](const ast::Declaration* each) { return each->initializer != nullptr; }))
    return false;
  const Signature& types = overloads_.signature(constructor, {});
  return !types.fault && types.parameters[0].type.type->is(TypeKind::Reference) &&
         types.parameters[0].type.type->inner == constructor.owner->type;
}

std::vector<const Symbol*> Lowering::copy_constructors(const Class& made) {
  std::vector<const Symbol*> found;
  std::ranges::copy_if(made.scope->own(kConstructorName), std::back_inserter(found),
                       [&](const Symbol* each) { return is_copy_constructor(*each); });
  return found;
}

bool Lowering::has_own_copies(const Type* type) {
  while (type->is_array()) type = type->inner;
  const Class* made = types_.class_of(type);
  if (made == nullptr) return false;
  if (const auto known = own_copies_.find(type); known != own_copies_.end()) return known->second;
  own_copies_[type] = false;
  const bool has = !copy_constructors(*made).empty() ||
                   (!made->in_words && std::ranges::any_of(made->members, [&](const Member& member) {
                     return has_own_copies(member.type);
                   }));
  return own_copies_[type] = has;
}

const ir::Expression* Lowering::copied(const Value& from, Location at) {
  if (!from.is_place || from.type == nullptr || !(from.type->is_struct() || from.type->is_array()) ||
      body_.is_unevaluated || !has_own_copies(from.type))
    return read(from);
  const Value object = freeze(from.kept != nullptr || from.in_words ? keep(from, "copied") : from);
  std::vector<const ir::Expression*> parts;
  const auto add = [&](const ir::Expression* part, size_t since) {
    settle_all(parts, since);
    count_part(at);
    parts.push_back(part);
  };
  if (object.type->is_array()) {
    for (uint32_t i = 0; i < object.type->count; ++i) {
      const size_t since = mark();
      add(copied(element(object, rvalue(build(at).constant_int(i)), at), at), since);
    }
    return build(at).construct(object.type, std::move(parts));
  }
  Class& made = *types_.class_of(object.type);
  OverloadSet set{.name = kConstructorName, .candidates = copy_constructors(made), .at = at, .is_qualified = true};
  if (!set.candidates.empty()) {
    for (const Symbol* each : set.candidates)
      if (each->declaration->is_deleted)
        throw Rejected{at, in_quotes(made.type) + " cannot be copied: its copy constructor is deleted"};
    return read(call(overloads_.choose(set, std::span(&object, 1)), std::nullopt, std::span(&object, 1), at));
  }
  for (const Member& member : made.members) {
    const size_t since = mark();
    if (member.field == Member::kNoField) {
      add(build(at).zero(member.type), since);
      continue;
    }
    add(has_own_copies(member.type) ? copied(member_place(object, member, at), at)
                                    : build(at).member(object.ir, member.field),
        since);
  }
  return composed(made, std::move(parts), at);
}

// ---- Assignment ----------------------------------------------------------------------------------------------------

bool Lowering::has_own_assignment(const Type* type) {
  while (type->is_array()) type = type->inner;
  const Class* made = types_.class_of(type);
  if (made == nullptr || made->in_words) return false;
  if (const auto known = own_assignments_.find(type); known != own_assignments_.end()) return known->second;
  own_assignments_[type] = false;
  const bool has =
      std::ranges::any_of(made->members, [&](const Member& member) { return has_own_assignment(member.type); }) ||
      std::ranges::any_of(made->scope->own("operator="), [](const Symbol* each) {
        return each->kind == Symbol::Kind::Function && !each->declaration->is_defaulted;
      });
  return own_assignments_[type] = has;
}

// Both are places.
void Lowering::assign_object(const Value& to, const Value& from, Scope& scope, Location at) {
  if (!has_own_assignment(to.type)) return assign(to, read(from), at);
  if (to.type->is_array()) {
    for (uint32_t i = 0; i < to.type->count; ++i) {
      count_part(at);
      const Value index = rvalue(build(at).constant_int(i));
      assign_object(element(to, index, at), element(from, index, at), scope, at);
    }
    return;
  }
  Value operands[] = {to, from};
  if (overloaded("=", operands, scope, at)) return;
  const Class& made = *types_.class_of(to.type);
  for (const Member& member : made.members) {
    if (member.field == Member::kNoField) continue;
    assign_object(member_place(to, member, at), member_place(from, member, at), scope, at);
  }
}

// ---- Arguments of class templates -----------------------------------------------------------------------------------

// S x(a, b) and S{a, b} without the arguments of the template S: they are deduced from the values.

namespace {

bool deduction_is_constructor(const ast::Declaration& member) {
  return member.kind == ast::DeclarationKind::Function && member.type == nullptr && member.conversion == nullptr &&
         !member.is_deleted && !member.name.starts_with('~');
}

bool deduction_is_field(const ast::Declaration& member) {
  return member.kind == ast::DeclarationKind::Variable && !member.is_static && member.qualified.parts.empty() &&
         !member.name.empty();
}

}  // namespace

// Each constructor is tried as a function template with the parameters of the struct; without constructors, the fields
// are the parameters. The first one that fits decides.
QualifiedType Lowering::deduce_class(const Symbol& symbol, std::span<const Value> given, Location at) {
  const ast::Declaration& structure = *symbol.declaration;
  // {x} of the same template is a copy.
  if (const Class* same = given.size() == 1 ? class_named(given[0].type) : nullptr;
      same != nullptr && same->symbol == &symbol)
    return {.type = given[0].type};
  ast::Declaration fields;
  std::vector<const ast::Declaration*> candidates;
  for (const ast::Declaration* member : structure.members) {
    if (deduction_is_constructor(*member)) candidates.push_back(member);
    if (deduction_is_field(*member)) fields.parameters.push_back(member);
  }
  if (candidates.empty()) candidates.push_back(&fields);
  for (const ast::Declaration* candidate : candidates) {
    const bool is_fields = candidate == &fields;
    if (given.size() > candidate->parameters.size()) continue;
    bool has_defaults = true;
    for (size_t i = given.size(); i < candidate->parameters.size(); ++i)
      has_defaults = has_defaults && (is_fields || candidate->parameters[i]->initializer != nullptr);
    if (!has_defaults) continue;
    ast::Declaration& function = deduced_constructors_.emplace_back();
    function.name = structure.name;
    function.at = structure.at;
    function.is_template = true;
    function.template_parameters = structure.template_parameters;
    function.template_parameters.insert(function.template_parameters.end(), candidate->template_parameters.begin(),
                                        candidate->template_parameters.end());
    function.parameters = candidate->parameters;
    TemplateArguments arguments;
    try {
      if (!templates_.deduce(function, *symbol.scope, {}, given, arguments)) continue;
      arguments.resize(structure.template_parameters.size());
      return {.type = types_.instance_of(symbol, arguments, at)};
    } catch (const Rejected&) {
      continue;
    }
  }
  throw Rejected{at, base::format("the template arguments of {0} cannot be deduced here: write {1}<...>",
                                  in_quotes(structure.name), structure.name)};
}

}  // namespace kymo::shader
