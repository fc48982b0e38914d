// New objects: without a value, from a value, from arguments.

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

constexpr uint32_t kMaxSplat = 65536;  // elements of an array that are constructed one by one

}  // namespace

bool Lowering::has_constructors(const Class& made) const {
  return made.scope->symbols.find(kConstructorName) != made.scope->symbols.end();
}

const ast::Declaration* Lowering::field_declaration(const Class& owner, std::string_view name) const {
  const auto found = owner.scope->symbols.find(name);
  if (found == owner.scope->symbols.end()) return nullptr;
  for (const Symbol* symbol : found->second) {
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
  QualifiedType type;
  type.type = field.type;
  return initialize(type, *declared, *owner.scope);
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
  // What is written bit by bit needs a value before.
  return made != nullptr && made->has_bits ? build(at).zero(type) : nullptr;
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
  if (has_constructors(made)) {
    OverloadSet set;
    set.name = kConstructorName;
    set.at = at;
    set.is_qualified = true;
    for (const Symbol* symbol : made.scope->symbols.find(kConstructorName)->second) set.candidates.push_back(symbol);
    std::optional<Chosen> chosen = overloads_.try_choose(set, given);
    if (!chosen && given.size() == 1 && given[0].type != nullptr && given[0].type->is_struct()) {
      QualifiedType wanted;
      wanted.type = made.type;
      if (overloads_.rank(given[0], wanted) != Rank::Impossible) return convert(given[0], wanted, at, "the value");
    }
    if (!chosen && given.empty() && !has_default_constructor(made)) {
      throw Rejected{at, in_quotes(made.type) + " has no constructor without arguments: give it some"};
    }
    const Value value =
        chosen ? call(*chosen, std::nullopt, given, at) : call(overloads_.choose(set, given), std::nullopt, given, at);
    return read(value);
  }
  if (!given.empty()) {
    QualifiedType wanted;
    wanted.type = made.type;
    if (given.size() == 1 && given[0].type != nullptr && given[0].type->is_struct() &&
        overloads_.rank(given[0], wanted) != Rank::Impossible) {
      return convert(given[0], wanted, at, "the value");
    }
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
  for (const Symbol* symbol : made.scope->symbols.find(kConstructorName)->second) {
    bool needs_none = true;
    for (const ast::Declaration* parameter : symbol->declaration->parameters) {
      needs_none = needs_none && (parameter->initializer != nullptr || parameter->is_variadic);
    }
    if (needs_none) return true;
  }
  return false;
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

}  // namespace kymo::shader
