// The symbols that a name stands for.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/lookup/lookup.h"

namespace kymo::shader {
namespace {

using Symbols = std::vector<const Symbol*>;
using Visited = std::vector<const Scope*>;

void lookup_add(Symbols& into, const std::vector<Symbol*>& symbols) {
  for (const Symbol* symbol : symbols)
    if (std::find(into.begin(), into.end(), symbol) == into.end()) into.push_back(symbol);
}

// Whether the search ends: a symbol hides the symbols of outer scopes with its name, but functions are all candidates.
bool lookup_is_final(const Symbols& found) { return !found.empty() && found.front()->kind != Symbol::Kind::Function; }

void lookup_within(std::string_view name, const Scope& scope, Symbols& into, Visited& visited) {
  if (const auto own = scope.symbols.find(name); own != scope.symbols.end()) lookup_add(into, own->second);
  if (lookup_is_final(into)) return;
  if (!scope.bases.empty() && into.empty())
    for (const Scope* base : scope.bases) lookup_within(name, *base, into, visited);
  for (const Scope* used : scope.used) {
    if (std::find(visited.begin(), visited.end(), used) != visited.end()) continue;
    visited.push_back(used);
    Symbols more;
    lookup_within(name, *used, more, visited);
    for (const Symbol* symbol : more)
      if ((into.empty() || symbol->kind == Symbol::Kind::Function) &&
          std::find(into.begin(), into.end(), symbol) == into.end())
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
    if (home != nullptr && std::find(homes.begin(), homes.end(), home) == homes.end()) homes.push_back(home);
    return;
  }
  const Class& made = *static_cast<const Class*>(type->declaration);
  const Scope* home = lookup_namespace(made.scope);
  if (home != nullptr && std::find(homes.begin(), homes.end(), home) == homes.end()) homes.push_back(home);
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

bool Lookup::uses_metal(const Scope& scope) const {
  Visited visited{&scope};
  for (size_t i = 0; i < visited.size(); ++i) {
    if (visited[i] == metal_) return true;
    for (const Scope* used : visited[i]->used)
      if (std::find(visited.begin(), visited.end(), used) == visited.end()) visited.push_back(used);
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
      if (symbol->kind == Symbol::Kind::Function &&
          std::find(set.candidates.begin(), set.candidates.end(), symbol) == set.candidates.end())
        set.candidates.push_back(symbol);
}

TemplateArgument Lookup::argument_of(std::string_view name, const Scope& bound) {
  const auto found = bound.symbols.find(name);
  return found == bound.symbols.end() ? TemplateArgument{} : found->second.front()->argument;
}

}  // namespace kymo::shader
