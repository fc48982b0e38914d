// Every declaration gets a symbol. Types and values are computed later, at their first use.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/builtin_functions.h"
#include "shader/sema/builtin_types.h"
#include "shader/sema/lookup/lookup.h"
#include "shader/sema/same.h"

namespace kymo::shader {

using ast::DeclarationKind;

void Lookup::declare_all(const ast::Tree& tree) {
  for (const ast::Declaration* declaration : tree.declarations) {
    if (context_.diagnostics.is_full()) return;
    try {
      declare(*declaration, *global_, nullptr);
    } catch (const Rejected& rejected) {
      context_.report(rejected);
    }
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
      if (std::find(scope.used.begin(), scope.used.end(), target) == scope.used.end() && target != &scope)
        scope.used.push_back(target);
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
  if (const auto found = scope.symbols.find(declaration.name); found != scope.symbols.end())
    for (const Symbol* symbol : found->second)
      if (symbol->kind == Symbol::Kind::Namespace) inside = symbol->scope;
  if (inside == nullptr) {
    inside = &make_scope(Scope::Kind::Namespace, &scope);
    inside->name = declaration.name;
    make_symbol(Symbol::Kind::Namespace, declaration.name, scope).scope = inside;
    if (declaration.is_inline || declaration.name.empty()) scope.used.push_back(inside);
  }
  for (const ast::Declaration* member : declaration.members) {
    if (context_.diagnostics.is_full()) return;
    try {
      declare(*member, *inside, nullptr);
    } catch (const Rejected& rejected) {
      context_.report(rejected);
    }
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
    if (std::find(into.begin(), into.end(), known) == into.end()) into.push_back(known);
  }
}

// Sources add to namespace metal what Apple's library does not have. Kymo's may have it: then theirs counts.
bool Lookup::replaces_library(Symbol::Kind kind, const ast::Declaration& declaration, Scope& scope) {
  const bool is_new = declaration.kind != DeclarationKind::Struct || declaration.is_definition;
  if (!is_new || scope.kind != Scope::Kind::Namespace || context_.is_library(declaration.at)) return false;
  const auto found = scope.symbols.find(declaration.name);
  if (found == scope.symbols.end()) return false;
  for (Symbol* symbol : found->second) {
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
    if (const auto found = home.symbols.find(declaration.name);
        found != home.symbols.end() && declaration.qualified.last().has_arguments)
      for (Symbol* symbol : found->second)
        if (symbol->kind == Symbol::Kind::Type && symbol->declaration != nullptr && symbol->declaration->is_template) {
          if (declaration.is_definition) symbol->others.push_back(&declaration);
          return;
        }
    throw Rejected{declaration.at,
                   base::format("there is no struct template \"{}\" here to specialise", declaration.name)};
  }
  if (declaration.name.empty() || replaces_library(Symbol::Kind::Type, declaration, scope)) return;
  if (const auto found = scope.symbols.find(declaration.name);
      found != scope.symbols.end() && declaration.kind == DeclarationKind::Struct)
    for (Symbol* symbol : found->second) {
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
  if (const auto known = scope.symbols.find(declaration.name);
      known != scope.symbols.end() && !declaration.name.empty())
    for (Symbol* symbol : known->second)
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
      if (const auto found = home.symbols.find(declaration.name); found != home.symbols.end())
        for (Symbol* symbol : found->second)
          if (symbol->kind == Symbol::Kind::Variable && symbol->declaration->is_template) {
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

}  // namespace kymo::shader
