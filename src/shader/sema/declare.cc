// Every declaration gets a symbol. Nothing is worked out: types and values are looked at when they are first asked for.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/same.h"
#include "shader/sema/sema.h"
#include "shader/sema/tables.h"

namespace kymo::shader {

using ast::DeclarationKind;

Scope& Meaning::make_scope(Scope::Kind kind, Scope* parent) {
  Scope& made = scopes_.emplace_back();
  made.kind = kind;
  made.parent = parent;
  return made;
}

Symbol& Meaning::make_symbol(Symbol::Kind kind, std::string_view name, Scope& scope) {
  Symbol& made = symbols_.emplace_back();
  made.kind = kind;
  made.name = name;
  made.scope = &scope;
  scope.symbols[name].push_back(&made);
  return made;
}

void Meaning::declare_all() {
  for (const ast::Declaration* declaration : tree_.declarations) {
    if (diagnostics_.is_full()) return;
    try {
      declare(*declaration, *global_, nullptr);
    } catch (const Rejected& rejected) {
      report(rejected);
    }
  }
  for (const Symbol* symbol : find_in("metal", *global_))
    if (symbol->kind == Symbol::Kind::Namespace) metal_ = symbol->scope;
}

void Meaning::declare(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  switch (declaration.kind) {
    case DeclarationKind::Namespace:
      return declare_namespace(declaration, scope);
    case DeclarationKind::UsingDirective: {
      ast::Name inside = declaration.target;
      inside.parts.push_back({});  // so that all of the name is a scope
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
      tables_->asserts.push_back({&declaration, &scope});
      return;
    case DeclarationKind::ExplicitInstantiation:
      tables_->instantiations.push_back({&declaration, &scope});
      return;
    case DeclarationKind::Structured:
      throw Rejected{declaration.at, "\"auto [a, b]\" is allowed in functions only"};
  }
}

void Meaning::declare_namespace(const ast::Declaration& declaration, Scope& scope) {
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
    if (diagnostics_.is_full()) return;
    try {
      declare(*member, *inside, nullptr);
    } catch (const Rejected& rejected) {
      report(rejected);
    }
  }
}

void Meaning::declare_using(const ast::Declaration& declaration, Scope& scope) {
  const std::vector<const Symbol*> found = find(declaration.target, scope, declaration.at);
  const std::string_view name = declaration.target.last().name;
  if (found.empty()) {
    // Builtin functions have no symbol: they are found without one.
    if (is_builtin(name) || builtin_type(name) != nullptr) return;
    throw Rejected{declaration.at, base::format("there is nothing called \"{}\" there to use", name)};
  }
  std::vector<Symbol*>& into = scope.symbols[name];
  for (const Symbol* symbol : found) {
    Symbol* known = const_cast<Symbol*>(symbol);  // a scope may add to what it has; find() only looks
    if (std::find(into.begin(), into.end(), known) == into.end()) into.push_back(known);
  }
}

void Meaning::declare_type(const ast::Declaration& declaration, Scope& scope, Class* owner) {
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
  if (declaration.name.empty()) return;
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
      tables_->forward[&declaration] = symbol->declaration;
      symbol->declaration = &declaration;
      return;
    }
  Symbol& symbol = make_symbol(Symbol::Kind::Type, declaration.name, scope);
  symbol.declaration = &declaration;
  symbol.owner = owner;
}

void Meaning::declare_enum(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  Scope& inside = make_scope(Scope::Kind::Block, &scope);
  for (const ast::Enumerator& enumerator : declaration.enumerators) {
    Symbol& symbol = make_symbol(Symbol::Kind::Enumerator, enumerator.name, inside);
    symbol.declaration = &declaration;
    symbol.owner = owner;
    if (!declaration.is_scoped) scope.symbols[enumerator.name].push_back(&symbol);
  }
  if (declaration.name.empty()) return;
  Symbol& symbol = make_symbol(Symbol::Kind::Type, declaration.name, scope);
  symbol.declaration = &declaration;
  symbol.owner = owner;
  tables_->enum_scopes[&symbol] = &inside;
}

void Meaning::declare_variable(const ast::Declaration& declaration, Scope& scope, Class* owner) {
  if (!declaration.qualified.parts.empty()) {
    Scope& home = home_of(declaration, scope);
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
    return;  // S::x outside of S: what is said inside counts
  }
  if (declaration.name.empty()) return;
  const ast::TypeName* object = declaration.type;
  while (object != nullptr && object->form == ast::TypeForm::Array) object = object->inner;
  if (scope.kind == Scope::Kind::Namespace && object != nullptr && object->space && *object->space != Space::Constant)
    throw Rejected{
        declaration.at,
        base::format("the variable \"{}\" is outside of functions: only constant ones may be there", declaration.name)};
  Symbol& symbol = make_symbol(Symbol::Kind::Variable, declaration.name, scope);
  symbol.declaration = &declaration;
  symbol.owner = owner;
}

const ir::Expression* Meaning::enumerator(const Symbol& symbol, Location at) {
  if (symbol.constant != nullptr) return symbol.constant;
  const ast::Declaration& declaration = *symbol.declaration;
  Scope& inside = *symbol.scope;
  const Type* type = declaration.type == nullptr ? types_.get(TypeKind::Int) : resolve_plain(*declaration.type, inside);
  if (!type->is_integer() && !type->is(TypeKind::Bool))
    throw Rejected{declaration.at,
                   base::format("the type of an enum must be an integer type, not \"{}\"", TypeTable::name(type))};
  int64_t next = 0;
  for (const ast::Enumerator& each : declaration.enumerators) {
    Symbol& made = *inside.symbols[each.name].front();
    if (made.constant == nullptr) {
      const ir::Expression* given =
          each.value == nullptr ? nullptr : constant(*each.value, inside, "the value of an enumerator");
      if (given != nullptr && !given->type->is_integer() && !given->type->is(TypeKind::Bool))
        throw Rejected{each.at, base::format("the value of \"{}\" is not an integer", each.name)};
      const int64_t value = given == nullptr ? next : static_cast<int64_t>(given->bits);
      const bool is_large = given != nullptr && given->type->is(TypeKind::ULong);
      const Type* of = type;
      if (!fits(of, value, is_large)) {
        if (declaration.type != nullptr)
          throw Rejected{each.at, base::format("\"{}\" does not fit in \"{}\"", each.name, TypeTable::name(type))};
        const Type* unsigned_type = types_.get(TypeKind::UInt);
        of = fits(unsigned_type, value, is_large) ? unsigned_type : types_.get(TypeKind::Long);
      }
      ir::Expression& folded = module_.make_expression(ir::ExpressionKind::Constant, of, each.at);
      folded.bits = static_cast<uint64_t>(value);
      made.type = of;
      made.constant = &folded;
    }
    next = static_cast<int64_t>(made.constant->bits + 1);
    if (&made == &symbol) return made.constant;
  }
  throw Rejected{at, base::format("the value of \"{}\" depends on itself", symbol.name)};
}

void Meaning::check_assert(const ast::Declaration& declaration, Scope& scope) {
  if (constant_bool(*declaration.initializer, scope, "the condition of static_assert")) return;
  throw Rejected{declaration.at, declaration.text.empty() ? std::string("static_assert failed")
                                                          : base::format("static_assert failed: {}", declaration.text)};
}

}  // namespace kymo::shader
