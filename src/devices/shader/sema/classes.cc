// Structs and enums: instances of templates, members, layout, values.

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "shader/sema/context.h"
#include "shader/sema/lowering/lowering.h"
#include "shader/sema/same.h"
#include "shader/sema/templates.h"
#include "shader/sema/types.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kMaxAncestors = 256;
constexpr uint32_t kMaxParts = 16'384;
constexpr size_t kLongestName = 300;  // of a type: names of nested templates have no limit

}  // namespace

std::string Types::scope_prefix(const Scope* scope) {
  for (; scope != nullptr; scope = scope->parent) {
    if (scope->kind == Scope::Kind::Class) return scope->owner->type->name + "::";
    if (scope->kind == Scope::Kind::Namespace && !scope->name.empty())
      return scope_prefix(scope->parent) + std::string(scope->name) + "::";
  }
  return {};
}

Class& Types::make_class() {
  ++context_.instances;
  return classes_.emplace_back();
}

Class* Types::class_of(const Type* type) {
  Class* made = class_named(type);
  if (made != nullptr && !made->type->complete) complete(*made, context_.builder.at);
  return made;
}

const Field* Types::find_field(const Type* type, std::string_view name, uint32_t& index) {
  if (class_of(type) == nullptr) return nullptr;
  for (index = 0; index < type->fields.size(); ++index)
    if (type->fields[index].name == name) return &type->fields[index];
  return nullptr;
}

Scope& Types::members_of(const Symbol& symbol, const ast::NamePart& part, std::string_view member, Scope& from,
                         Location at) {
  const QualifiedType type = type_named(symbol, part, from, at);
  if (type.class_template != nullptr) throw needs_arguments(type, at);
  const Type* of = type.type != nullptr && type.type->is(TypeKind::Reference) ? type.type->inner : type.type;
  if (of != nullptr && of->is_enum()) return *static_cast<Scope*>(const_cast<void*>(of->declaration));
  const Class* made = of == nullptr ? nullptr : class_of(of);
  if (made == nullptr) throw Rejected{at, base::format("{} is not a struct: it has no \"{}\"", in_quotes(of), member)};
  return *made->scope;
}

Scope& Types::members_of(const ast::Expression& value, Scope& from, Location at) {
  const Type* of = context_.expressions->type_of(value, from);
  const Class* made = class_of(of);
  if (made == nullptr) throw Rejected{at, base::format("{} is not a struct: it has no members", in_quotes(of))};
  return *made->scope;
}

bool Types::is_derived(const Class& derived, const Class& base) const {
  return std::ranges::any_of(derived.bases,
                             [&](const Class* each) { return each == &base || is_derived(*each, base); });
}

Class& Types::instantiate_class(const Symbol& given, TemplateArguments arguments, Location at) {
  const Symbol& symbol = given.original != nullptr ? *given.original : given;
  Class*& known = classes_by_key_[instance_key(&symbol, arguments)];
  if (known != nullptr) return *known;
  context_.check_instances(at);
  Scope* bound = nullptr;
  const ast::Declaration* declaration = context_.templates->specialisation_of(symbol, arguments, bound, at);

  Class& made = make_class();
  made.declaration = declaration;
  made.symbol = &symbol;
  if (declaration != symbol.declaration)
    for (const ast::TemplateParameter& parameter : declaration->template_parameters)
      made.bound.push_back(lookup_.argument_of(parameter.name, *bound));
  else
    made.bound = arguments;
  std::string name = scope_prefix(symbol.scope) + std::string(symbol.name);
  if (symbol.declaration->is_template) base::format_to(name, "<{}>", spell(arguments));
  if (name.size() > kLongestName) {
    name.resize(kLongestName);
    name += "...>";
  }
  made.type = table_.make_struct(std::move(name), &made);
  made.arguments = std::move(arguments);
  made.scope = &lookup_.make_scope(Scope::Kind::Class, bound);
  made.scope->owner = &made;
  made.scope->name = symbol.name;
  Symbol& itself = lookup_.make_symbol(Symbol::Kind::Type, symbol.name, *made.scope);
  itself.declaration = symbol.declaration;
  itself.type = made.type;
  itself.scope = symbol.scope;
  itself.owner = symbol.owner;
  itself.original = &symbol;
  known = &made;
  return made;
}

void Types::complete(Class& made, Location at) {
  if (made.type->complete || made.is_completing) return;
  if (made.is_broken) {
    // It is reported only once.
    const Rejected& fault = faults_.at(&made);
    for (const Report& reported : context_.diagnostics.list())
      if (reported.at == fault.at && reported.text == fault.text) throw Rejected{at, ""};
    throw fault;
  }
  if (!made.declaration->is_definition)
    throw Rejected{at, base::format("\"{}\" is declared, but not defined", made.type->name)};
  const DepthGuard guard(context_.depth, kMaxInstantiationDepth, at, "a struct");
  made.is_completing = true;
  ++completing_;
  try {
    complete_members(made);
    made.is_completing = false;
    --completing_;
  } catch (Rejected& rejected) {
    made.is_completing = false;
    made.is_broken = true;
    --completing_;
    if (!made.arguments.empty())
      rejected.notes.push_back({Severity::Note, at, base::format("in the instantiation of \"{}\"", made.type->name)});
    faults_[&made] = rejected;
    throw;
  }
  while (completing_ == 0 && !pending_.empty()) {
    const auto [next, where] = pending_.back();
    pending_.pop_back();
    complete(*next, where);
  }
}

uint32_t Types::written_align(const ast::Declaration& declaration, Scope& scope) {
  constexpr uint64_t kMostAlign = 4096;
  uint32_t align = 1;
  for (const ast::Attribute& attribute : declaration.attributes) {
    if (attribute.name != "alignas" || attribute.arguments.empty()) continue;
    const uint64_t given =
        context_.expressions->constant_integer(*attribute.arguments[0], scope, "the argument of alignas");
    if (given > kMostAlign || (given & (given - 1)) != 0)
      throw Rejected{attribute.at, base::format("alignas({}) is not supported: the argument is a power of 2, up to {}",
                                                static_cast<int64_t>(given), kMostAlign)};
    align = std::max(align, static_cast<uint32_t>(given));
  }
  return align;
}

void Types::complete_members(Class& made) {
  const ast::Declaration& declaration = *made.declaration;
  for (const ast::TypeName* written : declaration.bases) {
    const Type* type = resolve_plain(*written, *made.scope->parent);
    Class* base = class_of(type);
    if (base == nullptr || base->in_words || !type->complete)
      throw Rejected{written->at, base::format("{} cannot be a base: it is not a complete struct", in_quotes(type))};
    made.ancestors += 1 + base->ancestors;
    if (made.ancestors > kMaxAncestors)
      throw Rejected{written->at, base::format("\"{}\" has more than {} bases", made.type->name, kMaxAncestors)};
    made.bases.push_back(base);
    made.scope->bases.push_back(base->scope);
    Member& added = made.members.emplace_back();
    added.name = base->scope->name;
    added.type = type;
    added.align = type->align;
  }
  std::vector<const ast::Declaration*> asserts;
  for (const ast::Declaration* member : declaration.members)
    if (member->kind == ast::DeclarationKind::StaticAssert)
      asserts.push_back(member);
    else
      lookup_.declare(*member, *made.scope, &made);

  uint32_t align = written_align(declaration, *made.scope);
  std::unordered_set<std::string_view> names;
  for (const ast::Declaration* member : declaration.members) {
    if (member->kind != ast::DeclarationKind::Variable || member->is_static || !member->qualified.parts.empty())
      continue;
    if (!member->name.empty() && !names.insert(member->name).second)
      throw Rejected{member->at, base::format("\"{}\" has two members \"{}\"", made.type->name, member->name)};
    const QualifiedType type = resolve(*member->type, *made.scope);
    if (type.function != nullptr)
      throw Rejected{member->at, base::format("\"{}\" is a pointer to a function, which a struct cannot contain: make "
                                              "the function a template parameter of the struct",
                                              member->name)};
    if (type.class_template != nullptr) throw needs_arguments(type, member->at);
    if (type.is_auto || type.type->is(TypeKind::Void) || (type.type->is_array() && type.type->count == 0))
      throw Rejected{member->at, base::format("\"{}\" needs a type that says how large it is", member->name)};
    const Type* held = type.type;
    while (held->is_array()) held = held->inner;
    if (held->is_struct() && !held->complete)
      throw Rejected{member->at, base::format("\"{}\" cannot contain {}, which is not complete here", made.type->name,
                                              in_quotes(type.type))};
    // The members of a struct without a name are found in the struct around it.
    if (is_unnamed_field(member->name))
      if (const Class* unnamed = class_of(type.type)) made.scope->bases.push_back(unnamed->scope);
    Member& added = made.members.emplace_back();
    added.name = member->name;
    added.type = type.type->is(TypeKind::Reference)
                     ? table_.pointer(type.type->inner, type.type->space, type.type->is_const)
                     : type.type;
    added.align = std::max(added.type->align, written_align(*member, *made.scope));
  }
  std::vector<Field> fields;
  if (declaration.is_union && !made.members.empty())
    store_union(made, fields, align);
  else
    store_members(made, fields, align);
  uint32_t parts = 0;
  for (const Field& field : fields) {
    const Type* held = field.type;
    while (held->is_array()) held = held->inner;
    parts += held->is_struct() ? parts_[held] : 1;
    if (parts > kMaxParts)
      throw Rejected{declaration.at, base::format("\"{}\" has more than {} fields, with those of its fields",
                                                  made.type->name, kMaxParts)};
  }
  parts_[made.type] = std::max(parts, 1U);
  table_.complete(*made.type, std::move(fields), align);
  if (made.type->size > kLargestStruct)
    throw Rejected{declaration.at, base::format("\"{}\" is larger than {} bytes", made.type->name, kLargestStruct)};
  made.is_completing = false;
  for (const ast::Declaration* each : asserts) check_assert(*each, *made.scope);
}

namespace {

// The empty structs at the first byte of an object: two of one type must not be at the same address.
void class_add_empty(const Type* type, std::vector<const Type*>& into) {
  while (type->is_array()) type = type->inner;
  const Class* made = class_named(type);
  if (made == nullptr) return;
  if (type->fields.empty()) into.push_back(type);
  for (size_t i = 0; i < made->bases.size() && i < made->members.size(); ++i)
    if (made->members[i].field == Member::kNoField) class_add_empty(made->members[i].type, into);
  if (!type->fields.empty()) class_add_empty(type->fields[0].type, into);
}

}  // namespace

// An empty base takes no space, as in Clang, unless an object of its type would be at the same address.
void Types::store_members(Class& made, std::vector<Field>& fields, uint32_t& align) {
  for (size_t i = 0; i < made.members.size(); ++i) {
    Member& member = made.members[i];
    bool takes_space = i >= made.bases.size() || !member.type->fields.empty();
    if (!takes_space) {
      std::vector<const Type*> own, others;
      class_add_empty(member.type, own);
      for (size_t k = 0; k < made.members.size(); ++k)
        if (k != i && (k <= made.bases.size())) class_add_empty(made.members[k].type, others);
      takes_space =
          std::ranges::any_of(own, [&](const Type* each) { return std::ranges::find(others, each) != others.end(); });
      align = std::max(align, member.align);
    }
    member.field = takes_space ? static_cast<uint32_t>(fields.size()) : Member::kNoField;
    if (takes_space) fields.push_back({member.name, member.type, 0, member.align});
  }
}

// A union is stored as an array of words: of uint, or of ushort or uchar if its alignment is less than that of uint.
void Types::store_union(Class& made, std::vector<Field>& fields, uint32_t& align) {
  uint64_t size = 0;
  for (const Member& member : made.members) {
    const Type* type = member.type;
    while (type->is_array()) type = type->inner;
    if (!type->is_number() && !type->is_struct())
      throw Rejected{made.declaration->at,
                     base::format("a union may have numbers, vectors, and arrays and structs of them, and \"{}\" is {}",
                                  member.name, in_quotes(member.type))};
    size = std::max(size, member.type->size);
    align = std::max(align, member.align);
  }
  const TypeKind word = align == 1 ? TypeKind::UChar : align == 2 ? TypeKind::UShort : TypeKind::UInt;
  size = (size + align - 1) / align * align;
  made.in_words = true;
  fields = {{"words", table_.array(table_.get(word), static_cast<uint32_t>(size / table_.get(word)->size))}};
}

// Completes what a variable of the type needs: structs in it now, structs that it points to as soon as possible.
void Types::complete_value(const Type* type, Location at) {
  while (type->is_array()) type = type->inner;
  if (type->is_pointer() || type->is(TypeKind::Reference)) return complete_pointee(type, at);
  if (Class* made = class_named(type)) complete(*made, at);
}

void Types::complete_pointee(const Type* type, Location at) {
  while (type->inner != nullptr) type = type->inner;
  Class* made = class_named(type);
  if (made == nullptr || type->complete || made->is_completing || made->is_closure || made->declaration == nullptr ||
      !made->declaration->is_definition)
    return;
  if (completing_ != 0)
    pending_.emplace_back(made, at);
  else
    complete(*made, at);
}

// ---- Enums and static_assert ----------------------------------------------------------------------------------------

// The values of enumerators, and static_assert.

const Type* Types::enum_type(const ast::Declaration& declaration, Scope& inside) {
  if (const auto known = enums_.find(&inside); known != enums_.end()) return known->second;
  const Type* underlying = nullptr;
  if (declaration.type != nullptr) {
    underlying = resolve_plain(*declaration.type, inside);
    if ((!underlying->is_integer() && !underlying->is(TypeKind::Bool)) || underlying->is_enum())
      throw Rejected{declaration.at, base::format("the type of an enum must be an integer type, not \"{}\"",
                                                  TypeTable::name(underlying))};
  } else if (declaration.is_scoped) {
    underlying = table_.get(TypeKind::Int);
  } else {
    evaluate_enumerators(declaration, inside);
    if (const auto known = enums_.find(&inside); known != enums_.end()) return known->second;
    underlying = table_.get(TypeKind::Int);
    bool is_negative = false;
    for (const ast::Enumerator& each : declaration.enumerators) {
      const ir::Expression* value = inside.symbols[each.name].front()->constant;
      is_negative = is_negative || (value->type->is_signed() && static_cast<int64_t>(value->bits) < 0);
      if (value->type->size > underlying->size || !value->type->is_signed()) underlying = value->type;
    }
    if (is_negative && !underlying->is_signed()) underlying = table_.get(TypeKind::Long);
  }
  const Type* made = table_.make_enum(scope_prefix(inside.parent) + std::string(declaration.name), underlying,
                                      declaration.is_scoped, &inside);
  enums_[&inside] = made;
  return made;
}

const ir::Expression* Types::enumerator(const Symbol& symbol, Location at) {
  if (symbol.constant != nullptr) return symbol.constant;
  constexpr uint32_t kDepth = kMaxInstantiationDepth - 10;  // before other limits, whose messages would not name it
  const std::string_view owner = symbol.owner == nullptr ? "" : std::string_view(symbol.owner->type->name);
  const DepthGuard guard(
      context_.depth, kDepth, at,
      base::format("the value of \"{}\"{}", symbol.name, owner.empty() ? "" : base::format(" in \"{}\"", owner)));
  evaluate_enumerators(*symbol.declaration, *symbol.scope);
  if (symbol.constant == nullptr)
    throw Rejected{at, base::format("the value of \"{}\" depends on itself", symbol.name)};
  return symbol.constant;
}

// Within its own braces an enumerator is an integer. After them it has the type of the enum, if this has a name.
void Types::evaluate_enumerators(const ast::Declaration& declaration, Scope& inside) {
  if (!enums_being_evaluated_.insert(&inside).second) return;
  struct Done {
    std::unordered_set<const Scope*>& all;
    const Scope* scope;
    ~Done() { all.erase(scope); }
  } const done{enums_being_evaluated_, &inside};
  const bool is_fixed = declaration.type != nullptr || declaration.is_scoped;
  const Type* type = is_fixed && !declaration.name.empty() ? enum_type(declaration, inside)->underlying
                     : declaration.type != nullptr         ? resolve_plain(*declaration.type, inside)
                                                           : table_.get(TypeKind::Int);
  int64_t next = 0;
  for (const ast::Enumerator& each : declaration.enumerators) {
    Symbol& made = *inside.symbols[each.name].front();
    if (made.constant == nullptr) {
      const ir::Expression* given =
          each.value == nullptr ? nullptr
                                : context_.expressions->constant(*each.value, inside, "the value of an enumerator");
      if (given != nullptr && !given->type->is_integer() && !given->type->is(TypeKind::Bool))
        throw Rejected{each.at, base::format("the value of \"{}\" is not an integer", each.name)};
      const int64_t value = given == nullptr ? next : static_cast<int64_t>(given->bits);
      const bool is_large = given != nullptr && given->type->is(TypeKind::ULong);
      const Type* of = type;
      if (!fits(of, value, is_large)) {
        if (is_fixed)
          throw Rejected{each.at, base::format("\"{}\" does not fit in \"{}\"", each.name, TypeTable::name(type))};
        const Type* unsigned_type = table_.get(TypeKind::UInt);
        of = fits(unsigned_type, value, is_large) ? unsigned_type : table_.get(TypeKind::Long);
      }
      ir::Expression& folded = context_.module.make_expression(ir::ExpressionKind::Constant, of, each.at);
      folded.bits = static_cast<uint64_t>(value);
      made.type = of;
      made.constant = &folded;
    }
    next = static_cast<int64_t>(made.constant->bits + 1);
  }
  if (declaration.name.empty()) return;
  const Type* own = enum_type(declaration, inside);
  for (const ast::Enumerator& each : declaration.enumerators) {
    Symbol& made = *inside.symbols[each.name].front();
    if (made.type == own) continue;
    made.type = own;
    made.constant = context_.build(each.at).convert(own, made.constant);
  }
}

void Types::check_assert(const ast::Declaration& declaration, Scope& scope) {
  if (context_.expressions->constant_bool(*declaration.initializer, scope, "the condition of static_assert")) return;
  throw Rejected{declaration.at, declaration.text.empty() ? std::string("static_assert failed")
                                                          : base::format("static_assert failed: {}", declaration.text)};
}

}  // namespace kymo::shader
