// Symbols of functions. A prototype and its definition have one symbol. A member that is defined outside of its struct
// is stored for the struct.

#include "base/text.h"
#include "shader/sema/lookup/lookup.h"
#include "shader/sema/same.h"

namespace kymo::shader {
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
  if (declaration.is_guide) {
    declared_.guides[{&scope, declaration.name}].push_back(&declaration);
    return;
  }
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

  if (const auto found = home->symbols.find(name); found != home->symbols.end())
    for (Symbol* symbol : found->second) {
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

}  // namespace kymo::shader
