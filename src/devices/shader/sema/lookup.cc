// Every declaration gets a symbol. Types and values are computed later, at their first use.

#include "shader/sema/lookup.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"
#include "shader/sema/builtins.h"
#include "shader/sema/same.h"
#include "shader/sema/types.h"

namespace kymo::shader {

using ast::DeclarationKind;

void Lookup::declare_all(const ast::Tree& tree) {
  for (const ast::Declaration* declaration : tree.declarations) {
    if (context_.diagnostics.is_full()) return;
    context_.reporting([&] { declare(*declaration, *global_, nullptr); });
  }
  for (const Symbol* symbol : find_in("metal", *global_))
    if (symbol->kind == Symbol::Kind::Namespace) metal_ = symbol->scope;
}

void Lookup::declare(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  switch (declaration.kind) {
    case DeclarationKind::Namespace:
      return declare_namespace(declaration, scope);
    case DeclarationKind::UsingDirective: {
      ast::Name inside = declaration.target;
      inside.parts.push_back({});  // the whole name is a scope
      Scope* target = scope_of(inside, scope, declaration.at);
      if (std::ranges::find(scope.used, target) == scope.used.end() && target != &scope) scope.used.push_back(target);
      return;
    }
    case DeclarationKind::NamespaceAlias: {
      ast::Name inside = declaration.target;
      inside.parts.push_back({});
      Scope* target = scope_of(inside, scope, declaration.at);
      make_symbol(Symbol::Kind::Namespace, declaration.name, scope).scope = target;
      return;
    }
    case DeclarationKind::Using:
      return declare_using(declaration, scope);
    case DeclarationKind::Alias:
    case DeclarationKind::Struct:
      return declare_type(declaration, scope, owner);
    case DeclarationKind::Enum:
      return declare_enum(declaration, scope, owner);
    case DeclarationKind::Function:
      return declare_function(declaration, scope, owner);
    case DeclarationKind::Variable:
      return declare_variable(declaration, scope, owner);
    case DeclarationKind::StaticAssert:
      declared_.asserts.push_back({&declaration, &scope});
      return;
    case DeclarationKind::ExplicitInstantiation:
      declared_.instantiations.push_back({&declaration, &scope});
      return;
    case DeclarationKind::Structured:
      throw Rejected{declaration.at, "\"auto [a, b]\" is allowed in functions only"};
  }
}

void Lookup::declare_namespace(const ast::Declaration& declaration, Scope& scope) {
  Scope* inside = nullptr;
  for (const Symbol* symbol : scope.own(declaration.name))
    if (symbol->kind == Symbol::Kind::Namespace) inside = symbol->scope;
  if (inside == nullptr) {
    inside = &make_scope(Scope::Kind::Namespace, &scope);
    inside->name = declaration.name;
    make_symbol(Symbol::Kind::Namespace, declaration.name, scope).scope = inside;
    if (declaration.is_inline || declaration.name.empty()) scope.used.push_back(inside);
  }
  for (const ast::Declaration* member : declaration.members) {
    if (context_.diagnostics.is_full()) return;
    context_.reporting([&] { declare(*member, *inside, nullptr); });
  }
}

void Lookup::declare_using(const ast::Declaration& declaration, Scope& scope) {
  const std::vector<const Symbol*> found = find(declaration.target, scope, declaration.at);
  const std::string_view name = declaration.target.last().name;
  if (found.empty()) {
    // Builtin functions have no symbol, and need none.
    if (is_builtin(name) || builtin_type(context_.table, name) != nullptr) return;
    throw Rejected{declaration.at, base::format("there is nothing called \"{}\" there to use", name)};
  }
  std::vector<Symbol*>& into = scope.symbols[name];
  for (const Symbol* symbol : found) {
    Symbol* known = const_cast<Symbol*>(symbol);  // the scope may add declarations to it later
    if (std::ranges::find(into, known) == into.end()) into.push_back(known);
  }
}

// Sources add to namespace metal what Apple's library does not have. Kymo's may have it: then theirs counts.
bool Lookup::replaces_library(Symbol::Kind kind, const ast::Declaration& declaration, Scope& scope) {
  const bool is_new = declaration.kind != DeclarationKind::Struct || declaration.is_definition;
  if (!is_new || scope.kind != Scope::Kind::Namespace || context_.is_library(declaration.at)) return false;
  for (Symbol* symbol : scope.own(declaration.name)) {
    if (symbol->kind != kind || symbol->declaration == nullptr || !context_.is_library(symbol->declaration->at))
      continue;
    symbol->declaration = &declaration;
    symbol->others.clear();
    return true;
  }
  return false;
}

void Lookup::declare_type(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  if (declaration.kind == DeclarationKind::Struct && !declaration.qualified.parts.empty()) {
    Scope& home = home_of(declaration, scope);
    for (Symbol* symbol : home.own(declaration.name)) {
      if (symbol->kind == Symbol::Kind::Type && symbol->declaration != nullptr && symbol->declaration->is_template &&
          declaration.qualified.last().has_arguments) {
        if (declaration.is_definition) symbol->others.push_back(&declaration);
        return;
      }
    }
    throw Rejected{declaration.at,
                   base::format("there is no struct template \"{}\" here to specialise", declaration.name)};
  }
  if (declaration.name.empty() || replaces_library(Symbol::Kind::Type, declaration, scope)) return;
  if (declaration.kind == DeclarationKind::Struct)
    for (Symbol* symbol : scope.own(declaration.name)) {
      if (symbol->kind != Symbol::Kind::Type || symbol->declaration == nullptr || symbol->type != nullptr ||
          symbol->declaration->kind != DeclarationKind::Struct)
        continue;
      if (!declaration.is_definition) return;
      if (symbol->declaration->is_definition)
        throw Rejected{declaration.at,
                       base::format("\"{}\" is defined twice", declaration.name),
                       {{Severity::Note, symbol->declaration->at, "it was defined here before"}}};
      declared_.forward[&declaration] = symbol->declaration;
      symbol->declaration = &declaration;
      return;
    }
  Symbol& symbol = make_symbol(Symbol::Kind::Type, declaration.name, scope);
  symbol.declaration = &declaration;
  symbol.owner = owner;
}

void Lookup::declare_enum(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  Symbol* declared = nullptr;  // without its values: enum class E : uint;
  if (!declaration.name.empty())
    for (Symbol* symbol : scope.own(declaration.name))
      if (enum_scopes_.contains(symbol)) declared = symbol;
  if (declared != nullptr && declaration.enumerators.empty()) return;
  if (declared != nullptr && !declared->declaration->enumerators.empty()) declared = nullptr;
  Scope& inside = declared != nullptr ? *enum_scopes_.at(declared) : make_scope(Scope::Kind::Block, &scope);
  for (const ast::Enumerator& enumerator : declaration.enumerators) {
    if (inside.symbols.contains(enumerator.name))
      throw Rejected{enumerator.at, base::format("the enum has two enumerators \"{}\"", enumerator.name)};
    Symbol& symbol = make_symbol(Symbol::Kind::Enumerator, enumerator.name, inside);
    symbol.declaration = &declaration;
    symbol.owner = owner;
    if (!declaration.is_scoped) scope.symbols[enumerator.name].push_back(&symbol);
  }
  if (declaration.name.empty()) return;
  Symbol& symbol = declared != nullptr ? *declared : make_symbol(Symbol::Kind::Type, declaration.name, scope);
  symbol.declaration = &declaration;
  symbol.owner = owner;
  enum_scopes_[&symbol] = &inside;
}

void Lookup::declare_variable(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  if (!declaration.qualified.parts.empty()) {
    Scope* around = nullptr;
    if (const ast::Declaration* structure = struct_around(declaration, scope, around)) {
      declared_.outside[structure].push_back({&declaration, &scope});  // a static member
      return;
    }
    Scope& home = *around;
    if (declaration.qualified.last().has_arguments) {
      for (Symbol* symbol : home.own(declaration.name)) {
        if (symbol->kind != Symbol::Kind::Variable || !symbol->declaration->is_template) continue;
        symbol->others.push_back(&declaration);
        return;
      }
      throw Rejected{declaration.at,
                     base::format("there is no variable template \"{}\" here to specialise", declaration.name)};
    }
    throw Rejected{declaration.at, base::format("\"{}\" is not declared in there", declaration.name)};
  }
  if (declaration.name.empty()) return;
  const ast::TypeName* object = declaration.type;
  while (object != nullptr && object->form == ast::TypeForm::Array) object = object->inner;
  if (scope.kind == Scope::Kind::Namespace && object != nullptr && object->space && *object->space != Space::Constant)
    throw Rejected{
        declaration.at,
        base::format("the variable \"{}\" is outside of functions: only constant ones may be there", declaration.name)};
  if (scope.kind == Scope::Kind::Namespace) declared_.variables.push_back({&declaration, &scope});
  if (replaces_library(Symbol::Kind::Variable, declaration, scope)) return;
  Symbol& symbol = make_symbol(Symbol::Kind::Variable, declaration.name, scope);
  symbol.declaration = &declaration;
  symbol.owner = owner;
}

// ---- Functions ------------------------------------------------------------------------------------------------------

// Symbols of functions. A prototype and its definition have one symbol. A member that is defined outside of its struct
// is stored for the struct.

namespace {

const ast::Declaration* declare_nested(const ast::Declaration& within, std::string_view name) {
  for (const ast::Declaration* member : within.members)
    if (member->kind == ast::DeclarationKind::Struct && member->name == name && member->is_definition) return member;
  return nullptr;
}

bool declare_is_empty(const ast::Statement* body) {
  return body == nullptr || (body->kind == ast::StatementKind::Block && body->statements.empty());
}

}  // namespace

Scope& Lookup::home_of(const ast::Declaration& declaration, Scope& scope) {
  Scope* home = declaration.qualified.from_global ? global_ : &scope;
  for (size_t i = 0; i + 1 < declaration.qualified.parts.size(); ++i) {
    const ast::NamePart& part = declaration.qualified.parts[i];
    Scope* next = nullptr;
    for (const Symbol* symbol : i == 0 ? find(part.name, *home) : find_in(part.name, *home))
      if (symbol->kind == Symbol::Kind::Namespace) next = symbol->scope;
    if (next == nullptr) throw Rejected{part.at, base::format("there is no namespace \"{}\" here", part.name)};
    home = next;
  }
  return *home;
}

// a::S<T>::f: through namespaces to the struct, and on through the structs in it. Null: it is in the namespace `home`.
const ast::Declaration* Lookup::struct_around(const ast::Declaration& declaration, Scope& scope, Scope*& home) {
  home = declaration.qualified.from_global ? global_ : &scope;
  const ast::Declaration* structure = nullptr;
  for (size_t i = 0; i + 1 < declaration.qualified.parts.size(); ++i) {
    const ast::NamePart& part = declaration.qualified.parts[i];
    if (structure != nullptr) {
      structure = declare_nested(*structure, part.name);
      if (structure == nullptr) throw Rejected{part.at, base::format("there is no struct \"{}\" in there", part.name)};
      continue;
    }
    Scope* next = nullptr;
    for (const Symbol* symbol : i == 0 ? find(part.name, *home) : find_in(part.name, *home)) {
      if (symbol->kind == Symbol::Kind::Namespace) next = symbol->scope;
      if (symbol->kind != Symbol::Kind::Type || symbol->declaration == nullptr) continue;
      structure = symbol->declaration;
      for (const ast::Declaration* special : symbol->others)
        if (part.has_arguments && same_name({false, {part}}, {false, {special->qualified.last()}})) structure = special;
    }
    if (next != nullptr) home = next;
    if (next == nullptr && structure == nullptr)
      throw Rejected{part.at, base::format("there is no struct or namespace \"{}\" here", part.name)};
  }
  return structure;
}

void Lookup::declare_function(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  if (!declaration.other_stage.empty())
    throw Rejected{declaration.at,
                   base::format("{} functions are not supported: only kernels are", declaration.other_stage)};
  if (declaration.name.starts_with('~')) {
    if (!declare_is_empty(declaration.body))
      throw Rejected{declaration.at, "a destructor that does something is not supported"};
    return;
  }

  Scope* home = &scope;
  if (declaration.qualified.parts.size() > 1) {
    Scope* at = nullptr;
    if (const ast::Declaration* structure = struct_around(declaration, scope, at)) {
      declared_.outside[structure].push_back({&declaration, &scope});
      return;
    }
    home = at;
  }

  std::string_view name = declaration.name;
  if (owner != nullptr && declaration.type == nullptr && declaration.conversion == nullptr) name = kConstructorName;
  if (declaration.conversion != nullptr) name = "operator";
  if (declaration.is_template && declaration.template_parameters.empty()) {
    declared_.specialised[{home, name}].push_back({&declaration, &scope});
    return;
  }

  for (Symbol* symbol : home->own(name)) {
    if (symbol->kind != Symbol::Kind::Function) continue;
    if (symbol->declaration->body != nullptr && declaration.body != nullptr && owner != nullptr) continue;
    if (!same_function(*symbol->declaration, declaration)) continue;
    if (declaration.body == nullptr) {
      symbol->others.push_back(&declaration);
      return;
    }
    if (symbol->declaration->body != nullptr && context_.is_library(symbol->declaration->at) &&
        !context_.is_library(declaration.at)) {
      symbol->declaration = &declaration;  // the source has its own
      symbol->others.clear();
      return;
    }
    if (symbol->declaration->body != nullptr) {
      // Two templates with the same parameters may differ in their defaults, which check the arguments.
      if (declaration.is_template) continue;
      throw Rejected{declaration.at,
                     base::format("\"{}\" is defined twice with the same parameters", declaration.name),
                     {{Severity::Note, symbol->declaration->at, "it was defined here before"}}};
    }
    symbol->others.push_back(symbol->declaration);
    symbol->declaration = &declaration;
    return;
  }
  Symbol& symbol = make_symbol(Symbol::Kind::Function, name, *home);
  symbol.declaration = &declaration;
  symbol.owner = owner;
  if (home->kind == Scope::Kind::Namespace && !declaration.is_template) declared_.functions.push_back(&symbol);
}

// ---- Lookup ---------------------------------------------------------------------------------------------------------

// The symbols that a name stands for.

namespace {

using Symbols = std::vector<const Symbol*>;
using Visited = std::vector<const Scope*>;

void lookup_add(Symbols& into, const std::vector<Symbol*>& symbols) {
  for (const Symbol* symbol : symbols)
    if (std::ranges::find(into, symbol) == into.end()) into.push_back(symbol);
}

// Whether the search ends: a symbol hides the symbols of outer scopes with its name, but functions are all candidates.
bool lookup_is_final(const Symbols& found) { return !found.empty() && found.front()->kind != Symbol::Kind::Function; }

void lookup_within(std::string_view name, const Scope& scope, Symbols& into, Visited& visited) {
  if (const auto own = scope.symbols.find(name); own != scope.symbols.end()) lookup_add(into, own->second);
  if (lookup_is_final(into)) return;
  if (!scope.bases.empty() && into.empty())
    for (const Scope* base : scope.bases) lookup_within(name, *base, into, visited);
  for (const Scope* used : scope.used) {
    if (std::ranges::find(visited, used) != visited.end()) continue;
    visited.push_back(used);
    Symbols more;
    lookup_within(name, *used, more, visited);
    for (const Symbol* symbol : more)
      if ((into.empty() || symbol->kind == Symbol::Kind::Function) && std::ranges::find(into, symbol) == into.end())
        into.push_back(symbol);
  }
}

// The namespace around a scope.
const Scope* lookup_namespace(const Scope* scope) {
  while (scope != nullptr && scope->kind != Scope::Kind::Namespace) scope = scope->parent;
  return scope;
}

void lookup_homes(const Type* type, std::vector<const Scope*>& homes, int depth) {
  while (type != nullptr && !type->is_struct() && !type->is_enum()) type = type->inner;
  if (type == nullptr || type->declaration == nullptr || depth > 8) return;
  if (type->is_enum()) {
    const Scope* home = lookup_namespace(static_cast<const Scope*>(type->declaration));
    if (home != nullptr && std::ranges::find(homes, home) == homes.end()) homes.push_back(home);
    return;
  }
  const Class& made = *static_cast<const Class*>(type->declaration);
  const Scope* home = lookup_namespace(made.scope);
  if (home != nullptr && std::ranges::find(homes, home) == homes.end()) homes.push_back(home);
  for (const Class* base : made.bases) lookup_homes(base->type, homes, depth + 1);
  for (const TemplateArgument& argument : made.arguments)
    if (argument.kind == TemplateArgument::Kind::Type) lookup_homes(argument.type.type, homes, depth + 1);
}

}  // namespace

Lookup::Lookup(Context& context) : context_(context), global_(&make_scope(Scope::Kind::Namespace, nullptr)) {}

Scope& Lookup::make_scope(Scope::Kind kind, Scope* parent) {
  Scope& made = scopes_.emplace_back();
  made.kind = kind;
  made.parent = parent;
  return made;
}

Symbol& Lookup::make_symbol(Symbol::Kind kind, std::string_view name, Scope& scope) {
  Symbol& made = symbols_.emplace_back();
  made.kind = kind;
  made.name = name;
  made.scope = &scope;
  scope.symbols[name].push_back(&made);
  return made;
}

Value& Lookup::make_value(const Value& value) { return values_.emplace_back(value); }

std::vector<const Symbol*> Lookup::find_in(std::string_view name, const Scope& in) const {
  Symbols found;
  Visited visited{&in};
  lookup_within(name, in, found, visited);
  return found;
}

std::vector<const Symbol*> Lookup::find(std::string_view name, const Scope& from) const {
  Symbols found;
  for (const Scope* scope = &from; scope != nullptr; scope = scope->parent) {
    if (scope->used.empty() && scope->bases.empty()) {
      const auto own = scope->symbols.find(name);
      if (own == scope->symbols.end()) continue;
      lookup_add(found, own->second);
    } else {
      Visited visited{scope};
      lookup_within(name, *scope, found, visited);
    }
    if (!found.empty()) return found;
  }
  return found;
}

namespace {

// A shorter name is near too many others.
constexpr size_t kShortestTypo = 3;

void lookup_names(const Scope& in, std::vector<std::string>& names, Visited& visited) {
  const size_t first = names.size();
  for (const auto& [name, symbols] : in.symbols) names.emplace_back(name);
  std::sort(names.begin() + static_cast<ptrdiff_t>(first), names.end());
  for (const std::vector<Scope*>* others : {&in.used, &in.bases}) {
    for (const Scope* other : *others) {
      if (std::ranges::find(visited, other) != visited.end()) continue;
      visited.push_back(other);
      lookup_names(*other, names, visited);
    }
  }
}

std::string lookup_suggestion(std::string_view name, std::span<const std::string> names) {
  if (name.size() < kShortestTypo) return {};
  const auto meant = base::nearest(name, names);
  return meant ? base::format("; did you mean \"{}\"?", *meant) : "";
}

}  // namespace

std::string Lookup::suggestion(std::string_view name, const Scope& from) const {
  std::vector<std::string> names;
  Visited visited;
  for (const Scope* scope = &from; scope != nullptr; scope = scope->parent) {
    visited.push_back(scope);
    lookup_names(*scope, names, visited);
  }
  for (const BuiltinRow& row : builtin_rows()) names.emplace_back(row.name);
  return lookup_suggestion(name, names);
}

std::string Lookup::suggestion_in(std::string_view name, const Scope& in) const {
  std::vector<std::string> names;
  Visited visited{&in};
  lookup_names(in, names, visited);
  return lookup_suggestion(name, names);
}

bool Lookup::uses_metal(const Scope& scope) const {
  Visited visited{&scope};
  for (size_t i = 0; i < visited.size(); ++i) {
    if (visited[i] == metal_) return true;
    for (const Scope* used : visited[i]->used)
      if (std::ranges::find(visited, used) == visited.end()) visited.push_back(used);
  }
  return false;
}

Scope* Lookup::scope_of(const ast::Name& name, Scope& from, Location at) {
  if (name.parts.size() < 2) return name.from_global ? global_ : nullptr;
  Scope* scope = name.from_global ? global_ : nullptr;
  for (size_t i = 0; i + 1 < name.parts.size(); ++i) {
    const ast::NamePart& part = name.parts[i];
    const Location where = part.at.line != 0 ? part.at : at;
    if (part.decltype_of != nullptr) {
      scope = &context_.structs->members_of(*part.decltype_of, from, where);
      continue;
    }
    const Symbols found = scope == nullptr ? find(part.name, from) : find_in(part.name, *scope);
    Scope* next = nullptr;
    for (const Symbol* symbol : found) {
      if (symbol->kind == Symbol::Kind::Namespace) {
        next = symbol->scope;
        break;
      }
      if (symbol->kind != Symbol::Kind::Type && symbol->kind != Symbol::Kind::Argument) continue;
      if (const auto known = enum_scopes_.find(symbol); known != enum_scopes_.end()) {
        next = known->second;
        break;
      }
      next = &context_.structs->members_of(*symbol, part, name.parts[i + 1].name, from, where);
      break;
    }
    if (next == nullptr)
      throw Rejected{where, base::format("there is no namespace or struct \"{}\" here{}", part.name,
                                         part.name == "raytracing" ? ": ray tracing is not supported" : "")};
    scope = next;
  }
  return scope;
}

std::vector<const Symbol*> Lookup::find(const ast::Name& name, Scope& from, Location at) {
  if (name.parts.size() == 1 && !name.from_global) return find(name.last().name, from);
  return find_in(name.last().name, *scope_of(name, from, at));
}

void Lookup::add_by_arguments(OverloadSet& set, std::span<const Value> arguments) const {
  if (set.is_qualified) return;
  std::vector<const Scope*> homes;
  for (const Value& argument : arguments) lookup_homes(argument.type, homes, 0);
  for (const Scope* home : homes)
    for (const Symbol* symbol : find_in(set.name, *home))
      if (symbol->kind == Symbol::Kind::Function && std::ranges::find(set.candidates, symbol) == set.candidates.end())
        set.candidates.push_back(symbol);
}

TemplateArgument Lookup::argument_of(std::string_view name, const Scope& bound) {
  const auto found = bound.own(name);
  return found.empty() ? TemplateArgument{} : found.front()->argument;
}

}  // namespace kymo::shader
