// What names stand for while a tree is given its meaning.
//
// Nothing of the tree is ever copied or changed: a template is instantiated by walking its tree again in a scope where
// its parameters are bound. All entities live as long as the Meaning that made them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shader/ir/ir.h"
#include "shader/parse/ast.h"
#include "shader/types/type.h"

namespace kymo::shader {

struct Scope;
struct Symbol;
struct Class;
struct FunctionInstance;

// A type as it is declared: `const` of the whole and where the object lies are no part of a Type.
struct QualifiedType {
  const Type* type = nullptr;  // may be a Reference
  bool is_const = false;
  std::optional<Space> space = {};
  // To be deduced from an initializer: type is null; pointers and references to auto are in `declared`.
  bool is_auto = false;
  const ast::TypeName* declared = nullptr;
};

struct TemplateArgument {
  enum class Kind : uint8_t { Type, Value, Pack, Template };
  Kind kind = Kind::Type;
  QualifiedType type;
  const ir::Expression* value = nullptr;  // a Constant
  std::vector<TemplateArgument> pack;
  const Symbol* symbol = nullptr;                        // of a template
  bool operator==(const TemplateArgument& other) const;  // values by type and bits
};
using TemplateArguments = std::vector<TemplateArgument>;

// ---- Symbols -------------------------------------------------------------------------------------------------------

struct Symbol {
  enum class Kind : uint8_t {
    Namespace,   // `scope`
    Type,        // `declaration` a Struct, Enum or Alias, perhaps a template; or `type`, where it is bound already
    Function,    // `declaration`, perhaps a template; several symbols of one name are its overloads
    Variable,    // `declaration` at namespace or class scope, lowered when it is first used; perhaps a template
    Local,       // `value`: a variable, parameter, binding or capture of the function being lowered
    Enumerator,  // `constant`, of `type`
    Argument,    // a template's parameter, bound: `argument`
    LocalPack,   // a function's parameter pack: `locals`
  };
  Kind kind = Kind::Type;
  std::string_view name;
  const ast::Declaration* declaration = nullptr;
  Scope* scope = nullptr;            // a Namespace's own; else where it was declared
  Class* owner = nullptr;            // of a member
  const Symbol* original = nullptr;  // of a struct's own name within it: the one outside
  const Type* type = nullptr;
  const ir::Expression* constant = nullptr;
  TemplateArgument argument;
  struct Value* value = nullptr;
  std::vector<struct Value*> locals;
  // Of a Type or Variable template: its specialisations; of a function: the declarations without a body that came
  // before or behind.
  std::vector<const ast::Declaration*> others;
};

// What a class's scope has its constructors as.
inline constexpr std::string_view kConstructorName = "<constructor>";

// ---- Scopes --------------------------------------------------------------------------------------------------------

struct Scope {
  enum class Kind : uint8_t { Namespace, Class, Template, Function, Block };
  Kind kind = Kind::Namespace;
  Scope* parent = nullptr;  // where lookup goes on
  std::string_view name;
  Class* owner = nullptr;  // of a Class scope
  std::unordered_map<std::string_view, std::vector<Symbol*>> symbols;
  std::vector<Scope*> used;   // using namespace; inline and anonymous namespaces within
  std::vector<Scope*> bases;  // of a Class scope
};

// ---- Classes and functions -----------------------------------------------------------------------------------------

// A struct, or one instance of a struct template.
struct Class {
  const ast::Declaration* declaration = nullptr;  // the one that was chosen, primary or specialised
  TemplateArguments arguments;
  TemplateArguments bound;  // those of the declaration that was chosen, where it is a specialisation; else as above
  Scope* scope = nullptr;   // its members; parent: its template bindings, then where it was declared
  Type* type = nullptr;
  std::vector<Class*> bases;       // their fields come first in type->fields
  const Symbol* symbol = nullptr;  // what it was instantiated from: a template's instances share it
  uint32_t ancestors = 0;          // bases, and theirs, each as often as it is there
  bool is_completing = false;
  bool is_broken = false;   // completing it failed, which was reported then
  bool is_closure = false;  // a lambda's: `call` is its operator()
  const ast::Lambda* lambda = nullptr;
  struct Captured {
    std::string_view name;
    bool by_reference = false;  // its field is a pointer
    bool is_pack = false;       // one of the elements of a pack of that name
  };
  std::vector<Captured> captures;  // a lambda's, one for each field
  std::vector<std::string_view> captured_packs;
};

struct Parameter {
  std::string_view name;
  QualifiedType type;  // with references
  const ast::Declaration* declaration = nullptr;
};

// A function with all its types known.
struct FunctionInstance {
  const ast::Declaration* declaration = nullptr;
  Class* owner = nullptr;            // of a member; its first IR parameter is `this`, a pointer, unless it is static
  bool is_static = false;            // a member that takes no object, by its declaration in the struct
  Space this_space = Space::Thread;  // of the object it was instantiated for
  bool this_const = false;
  TemplateArguments arguments;
  Scope* scope = nullptr;             // bindings of its template parameters; parent: where it was declared
  std::vector<Parameter> parameters;  // packs are spread out; types are those of this instance (see Meaning::instance)
  const Type* result = nullptr;       // null until an `auto` result was deduced, which lowering the body does
  bool result_is_reference = false;   // the IR function returns a pointer
  ir::Function* function = nullptr;
  enum class State : uint8_t { Declared, Lowering, Lowered, Failed } state = State::Declared;
};

// ---- Values --------------------------------------------------------------------------------------------------------

// An expression that was lowered.
struct Value {
  const ir::Expression* ir = nullptr;
  const Type* type = nullptr;  // the language's, never a reference; of a packed vector's place the packed type
  bool is_place = false;
  bool is_const = false;
  Space space = Space::Thread;  // of a place: where it lies
  // Things that are not values yet:
  const ast::Expression* braces = nullptr;  // {…}: gets its type from what it initializes
  Scope* braces_scope = nullptr;
  bool is_null = false;  // nullptr
  bool is_literal_zero = false;
  // A place of a union: `ir` is its storage, of another type than `type` has. See members.cc.
  const Type* viewed = nullptr;
  const ir::Expression* view_index = nullptr;  // an element of what it is viewed as
  const FunctionInstance* home = nullptr;      // of a Local: whose it is
  const ir::Expression* kept = nullptr;        // of a place: what it held when it was evaluated
};

// A function's name, or a member function's with its object: what a call chooses from.
struct OverloadSet {
  std::string_view name;
  std::vector<const Symbol*> candidates;
  bool has_arguments = false;   // f<int>(…)
  TemplateArguments arguments;  // explicit ones
  std::optional<Value> object;  // x.f(…), or the implicit *this
  Location at;
  bool is_qualified = false;    // a::f: no lookup by the arguments' namespaces
  bool allows_builtin = false;  // an unqualified name, or one in metal::
};

}  // namespace kymo::shader
