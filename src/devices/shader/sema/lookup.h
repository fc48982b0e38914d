// Scopes, the symbols in them, and the symbols that a name stands for.
//
// Every declaration of the tree gets a symbol before anything is looked up. Nothing is resolved for that: types and
// values are computed when they are first needed. The members of a struct are declared when the struct is completed,
// local declarations when their statement is lowered.
//
// The lookup follows the rules of C++: from a scope outwards, through using-directives, and in the bases of a struct. A
// qualified name may contain a struct template with arguments, S<int>::f; Types says what its members are.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shader/sema/context.h"
#include "shader/sema/entity.h"

namespace kymo::shader {

struct PlacedDeclaration {
  const ast::Declaration* declaration = nullptr;
  Scope* scope = nullptr;
};

// Declarations that are processed later, or that belong to another one.
struct Declared {
  std::vector<PlacedDeclaration> asserts, instantiations, variables;  // in namespaces
  std::vector<const Symbol*> functions;                               // at namespace scope, without templates

  // Members of a struct that are defined outside of it.
  std::unordered_map<const ast::Declaration*, std::vector<PlacedDeclaration>> outside;
  // Explicit specialisations of functions, by scope and name.
  std::map<std::pair<const Scope*, std::string_view>, std::vector<PlacedDeclaration>> specialised;
  // The declaration before the definition of a struct template, which may have the defaults of its parameters.
  std::unordered_map<const ast::Declaration*, const ast::Declaration*> forward;
};

class Lookup {
 public:
  explicit Lookup(Context& context);
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // ---- Scopes and symbols. They live as long as this object.
  Scope& make_scope(Scope::Kind kind, Scope* parent);
  Symbol& make_symbol(Symbol::Kind kind, std::string_view name, Scope& scope);  // and adds it to the scope
  Value& make_value(const Value& value = {});                                   // of a local symbol
  Scope* metal() const { return metal_; }  // namespace metal, with the standard library; null: not declared

  // ---- Declarations. Errors are reported, except those of declare().
  void declare_all(const ast::Tree& tree);
  void declare(const ast::Declaration& declaration, Scope& scope, Class* owner);  // owner: of a member
  const Declared& declared() const { return declared_; }

  // ---- Lookup. An empty result: not found.
  std::vector<const Symbol*> find(std::string_view name, const Scope& from) const;
  std::vector<const Symbol*> find_in(std::string_view name, const Scope& in) const;  // in its bases and used scopes too
  std::vector<const Symbol*> find(const ast::Name& name, Scope& from, Location at);
  // For a name that was not found: "; did you mean "input"?", from the names there, or nothing.
  std::string suggestion(std::string_view name, const Scope& from) const;
  std::string suggestion_in(std::string_view name, const Scope& in) const;
  bool uses_metal(const Scope& scope) const;  // whether it is namespace metal, or has a using-directive for it
  // For a::b<c>::d: the scope in which the last part is looked up. Null: the name is not qualified.
  Scope* scope_of(const ast::Name& name, Scope& from, Location at);
  Scope* enum_scope(const Symbol& type) const { return enum_scopes_.at(&type); }  // the enumerators of an enum
  // Adds the functions of the namespaces of the arguments' types.
  void add_by_arguments(OverloadSet& set, std::span<const Value> arguments) const;
  // The argument that a template parameter is bound to in this scope.
  static TemplateArgument argument_of(std::string_view name, const Scope& bound);

 private:
  void declare_namespace(const ast::Declaration& declaration, Scope& scope);
  void declare_type(const ast::Declaration& declaration, Scope& scope, Class* owner);
  bool replaces_library(Symbol::Kind kind, const ast::Declaration& declaration, Scope& scope);
  void declare_enum(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_function(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_variable(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_using(const ast::Declaration& declaration, Scope& scope);
  const ast::Declaration* struct_around(const ast::Declaration& declaration, Scope& scope, Scope*& home);
  Scope& home_of(const ast::Declaration& declaration, Scope& scope);  // a::b::f: the namespace of f

  Context& context_;
  std::deque<Scope> scopes_;
  std::deque<Symbol> symbols_;
  std::deque<Value> values_;
  Scope* global_;
  Scope* metal_ = nullptr;
  std::unordered_map<const Symbol*, Scope*> enum_scopes_;
  Declared declared_;
};

}  // namespace kymo::shader
