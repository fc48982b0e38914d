// {…}: its meaning depends on the type of the object. Inner braces of aggregates may be omitted, as in C++.

#include <algorithm>

#include "shader/sema/guards.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

constexpr uint32_t kMaxListed = 65536;              // elements of an array in an initializer
constexpr uint64_t kMaxInitializerParts = 500'000;  // of all initializers of a translation

bool braces_has_index(const ast::Expression& braces) {
  return std::any_of(braces.operands.begin(), braces.operands.end(),
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
  if (type->is_union) {
    if (type->fields.empty()) return build(at).zero(type);
    add([&] {
      return next < items.size() ? aggregate_part(type->fields[0].type, items, next, at)
                                 : build(at).zero(type->fields[0].type);
    });
    return build(at).construct(type, std::move(parts));
  }
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
  if (!made.has_bits) {
    std::vector<const ir::Expression*> fields;
    for (size_t i = 0; i < parts.size(); ++i)
      if (made.members[i].field != Member::kNoField) fields.push_back(parts[i]);
    return build(at).construct(made.type, std::move(fields));
  }
  ir::Variable& object = local("value", made.type, build(at).zero(made.type), at);
  Value whole = rvalue(build(at).variable(object), made.type);
  whole.is_place = true;
  for (size_t i = 0; i < parts.size(); ++i) assign(member_place(whole, made.members[i], at), parts[i], at);
  settled_.insert(&object);
  return build(at).variable(object);
}

// A union that is stored in words, with a value in one of its members.
const ir::Expression* Lowering::union_of(const Type* type, const Member& member, const Value& value, Location at) {
  const ir::Expression* given = value.braces != nullptr
                                    ? from_braces(member.type, *value.braces, *value.braces_scope)
                                    : convert(value, {.type = plain(member.type)}, at, "the value in {...}");
  ir::Variable& made = local("value", type, build(at).zero(type), at);
  Value whole = rvalue(build(at).variable(made), type);
  whole.is_place = true;
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
    if (in_words || type->is_union) {
      if (!is_given) continue;
      if (items.size() > 1) throw Rejected{at, "only one member of the union " + in_quotes(type) + " can be set"};
      if (in_words) return union_of(type, fields[i], items[0], at);
      if (i != 0)
        throw Rejected{at, "only the first member of the union " + in_quotes(type) + " can be set here: assign " +
                               in_quotes(fields[i].name) + " later"};
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

}  // namespace kymo::shader
