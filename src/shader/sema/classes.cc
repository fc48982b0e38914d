// Structs: instances of templates, their members, their layout.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/same.h"
#include "shader/sema/sema.h"
#include "shader/sema/tables.h"
#include "shader/sema/work.h"

namespace kymo::shader {
namespace {

constexpr uint32_t kMostAncestors = 256;
constexpr uint32_t kMostParts = 16'384;
constexpr uint64_t kLargestStruct = uint64_t{1} << 30;
constexpr size_t kLongestName = 300;  // of a type: those of templates of templates grow without end

// a::b::, of the namespaces and structs around a declaration.
std::string class_prefix(const Scope* scope) {
  for (; scope != nullptr; scope = scope->parent) {
    if (scope->kind == Scope::Kind::Class) return scope->owner->type->name + "::";
    if (scope->kind == Scope::Kind::Namespace && !scope->name.empty())
      return class_prefix(scope->parent) + std::string(scope->name) + "::";
  }
  return {};
}

}  // namespace

Class* Meaning::class_named(const Type* type) {
  if (type == nullptr || !type->is_struct()) return nullptr;
  return static_cast<Class*>(const_cast<void*>(type->declaration));
}

Class* Meaning::class_of(const Type* type) {
  Class* made = class_named(type);
  if (made != nullptr && !made->type->complete) complete(*made, build_.at);
  return made;
}

const Field* Meaning::find_field(const Type* type, std::string_view name, uint32_t& index) {
  if (class_of(type) == nullptr) return nullptr;
  for (index = 0; index < type->fields.size(); ++index)
    if (type->fields[index].name == name) return &type->fields[index];
  return nullptr;
}

bool Meaning::is_derived(const Class& derived, const Class& base) const {
  return std::any_of(derived.bases.begin(), derived.bases.end(),
                     [&](const Class* each) { return each == &base || is_derived(*each, base); });
}

Class& Meaning::instantiate_class(const Symbol& given, TemplateArguments arguments, Location at) {
  const Symbol& symbol = given.original != nullptr ? *given.original : given;
  Class*& known = tables_->classes[instance_key(&symbol, arguments)];
  if (known != nullptr) return *known;
  if (classes_.size() + instances_.size() > kMostInstances)
    throw Rejected{at,
                   base::format("more than {} instances of templates: their recursion does not end", kMostInstances)};
  Scope* bound = nullptr;
  const ast::Declaration* declaration = specialisation_of(symbol, arguments, bound, at);

  Class& made = classes_.emplace_back();
  made.declaration = declaration;
  made.symbol = &symbol;
  if (declaration != symbol.declaration)
    for (const ast::TemplateParameter& parameter : declaration->template_parameters)
      made.bound.push_back(argument_of(parameter.name, *bound));
  else
    made.bound = arguments;
  std::string name = class_prefix(symbol.scope) + std::string(symbol.name);
  if (symbol.declaration->is_template) base::format_to(name, "<{}>", spell(arguments));
  if (name.size() > kLongestName) {
    name.resize(kLongestName);
    name += "...>";
  }
  made.type = types_.make_struct(std::move(name), &made, declaration->is_union);
  made.arguments = std::move(arguments);
  made.scope = &make_scope(Scope::Kind::Class, bound);
  made.scope->owner = &made;
  made.scope->name = symbol.name;
  Symbol& itself = make_symbol(Symbol::Kind::Type, symbol.name, *made.scope);
  itself.declaration = symbol.declaration;
  itself.type = made.type;
  itself.scope = symbol.scope;
  itself.owner = symbol.owner;
  itself.original = &symbol;
  known = &made;
  return made;
}

void Meaning::complete(Class& made, Location at) {
  if (made.type->complete || made.is_completing) return;
  if (made.is_broken) {
    // Once it was reported, that is enough.
    const Rejected& fault = tables_->faults.at(&made);
    for (const Report& reported : diagnostics_.list())
      if (reported.at == fault.at && reported.text == fault.text) throw Rejected{at, ""};
    throw fault;
  }
  if (!made.declaration->is_definition)
    throw Rejected{at, base::format("\"{}\" is declared, but not defined", made.type->name)};
  const DepthGuard guard(tables_->depth, kMostInstantiationDepth, at, "a struct");
  made.is_completing = true;
  ++tables_->completing;
  try {
    complete_members(made);
    made.is_completing = false;
    --tables_->completing;
  } catch (Rejected& rejected) {
    made.is_completing = false;
    made.is_broken = true;
    --tables_->completing;
    if (!made.arguments.empty())
      rejected.notes.push_back({Severity::Note, at, base::format("in the instantiation of \"{}\"", made.type->name)});
    tables_->faults[&made] = rejected;
    throw;
  }
  while (tables_->completing == 0 && !tables_->pending.empty()) {
    const auto [next, where] = tables_->pending.back();
    tables_->pending.pop_back();
    complete(*next, where);
  }
}

void Meaning::complete_members(Class& made) {
  const ast::Declaration& declaration = *made.declaration;
  std::vector<Field> fields;
  for (const ast::TypeName* written : declaration.bases) {
    const Type* type = resolve_plain(*written, *made.scope->parent);
    Class* base = class_of(type);
    if (base == nullptr || base->type->is_union || !type->complete)
      throw Rejected{written->at, base::format("{} cannot be a base: it is not a complete struct", in_quotes(type))};
    made.ancestors += 1 + base->ancestors;
    if (made.ancestors > kMostAncestors)
      throw Rejected{written->at, base::format("\"{}\" has more than {} bases", made.type->name, kMostAncestors)};
    made.bases.push_back(base);
    made.scope->bases.push_back(base->scope);
    fields.push_back({std::string(base->scope->name), type});
  }
  std::vector<const ast::Declaration*> asserts;
  for (const ast::Declaration* member : declaration.members)
    if (member->kind == ast::DeclarationKind::StaticAssert)
      asserts.push_back(member);
    else
      declare(*member, *made.scope, &made);

  uint32_t align = 1;
  for (const ast::Attribute& attribute : declaration.attributes)
    if (attribute.name == "alignas" && !attribute.arguments.empty())
      align = static_cast<uint32_t>(constant_integer(*attribute.arguments[0], *made.scope, "the argument of alignas") &
                                    0xfff);
  for (const ast::Declaration* member : declaration.members) {
    if (member->kind != ast::DeclarationKind::Variable || member->is_static || !member->qualified.parts.empty())
      continue;
    const QualifiedType type = resolve(*member->type, *made.scope);
    if (type.is_auto || type.type->is(TypeKind::Void) || (type.type->is_array() && type.type->count == 0))
      throw Rejected{member->at, base::format("\"{}\" needs a type that says how large it is", member->name)};
    const Type* held = type.type;
    while (held->is_array()) held = held->inner;
    if (held->is_struct() && !held->complete)
      throw Rejected{member->at, base::format("\"{}\" cannot contain {}, which is not complete here", made.type->name,
                                              in_quotes(type.type))};
    fields.push_back(
        {std::string(member->name), type.type->is(TypeKind::Reference)
                                        ? types_.pointer(type.type->inner, type.type->space, type.type->is_const)
                                        : type.type});
  }
  if (made.type->is_union)
    for (const Field& field : fields)
      if (!field.type->is_number() || field.type->size != fields[0].type->size)
        throw Rejected{declaration.at,
                       base::format("a union may have numbers and vectors of one size only: \"{}\" is {}, \"{}\" is {}",
                                    fields[0].name, in_quotes(fields[0].type), field.name, in_quotes(field.type))};
  uint32_t parts = 0;
  for (const Field& field : fields) {
    const Type* held = field.type;
    while (held->is_array()) held = held->inner;
    parts += held->is_struct() ? tables_->parts[held] : 1;
    if (parts > kMostParts)
      throw Rejected{declaration.at, base::format("\"{}\" has more than {} fields, with those of its fields",
                                                  made.type->name, kMostParts)};
  }
  tables_->parts[made.type] = std::max(parts, 1U);
  types_.complete(*made.type, std::move(fields), align);
  if (made.type->size > kLargestStruct)
    throw Rejected{declaration.at, base::format("\"{}\" is larger than {} bytes", made.type->name, kLargestStruct)};
  made.is_completing = false;
  for (const ast::Declaration* each : asserts) check_assert(*each, *made.scope);
}

// What a variable of the type needs: structs in it are completed now, those behind its pointers as soon as that is
// possible.
void Meaning::complete_value(const Type* type, Location at) {
  while (type->is_array()) type = type->inner;
  if (type->is_pointer() || type->is(TypeKind::Reference)) return complete_pointee(type, at);
  if (Class* made = class_named(type)) complete(*made, at);
}

void Meaning::complete_pointee(const Type* type, Location at) {
  while (type->inner != nullptr) type = type->inner;
  Class* made = class_named(type);
  if (made == nullptr || type->complete || made->is_completing || made->is_closure || made->declaration == nullptr ||
      !made->declaration->is_definition)
    return;
  if (tables_->completing != 0)
    tables_->pending.emplace_back(made, at);
  else
    complete(*made, at);
}

}  // namespace kymo::shader
