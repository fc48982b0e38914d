// The entities that names refer to during semantic analysis.
//
// The tree is never copied or changed: a template is instantiated by walking its tree again in a scope where its
// parameters are bound. All entities live until the end of the stage.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
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

// A declared type: `const` of the whole object and its address space are not part of a Type.
struct QualifiedType {
  const Type* type = nullptr;  // may be a Reference
  bool is_const = false;
  std::optional<Space> space = {};
  // To be deduced from an initializer: type is null; pointers and references to auto are in `declared`.
  bool is_auto = false;
  const ast::TypeName* declared = nullptr;
  // A pointer to a function: also deduced, as the type of the function (lowering/calls.cc).
  const ast::TypeName* function = nullptr;
  Scope* function_scope = nullptr;  // of the types in `function`
  // A struct template without arguments: also deduced (lowering/initialize.cc).
  const Symbol* class_template = nullptr;
};

struct TemplateArgument {
  enum class Kind : uint8_t { Type, Value, Pack, Template };
  Kind kind = Kind::Type;
  QualifiedType type;
  const ir::Expression* value = nullptr;  // a Constant
  std::vector<TemplateArgument> pack;
  const Symbol* symbol = nullptr;                        // of a template
  bool operator==(const TemplateArgument& other) const;  // compares values by type and bits
};
using TemplateArguments = std::vector<TemplateArgument>;

// A text that is unique for the symbol and the arguments.
std::string instance_key(const void* symbol, const TemplateArguments& arguments);
// For messages: "float, 4".
std::string spell(const TemplateArguments& arguments);

// ---- Symbols -------------------------------------------------------------------------------------------------------

struct Symbol {
  enum class Kind : uint8_t {
    Namespace,   // `scope`
    Type,        // `declaration` a Struct, Enum or Alias, perhaps a template; or `type`, if it is already bound
    Function,    // `declaration`, perhaps a template; several symbols with one name are overloads
    Variable,    // `declaration` at namespace or class scope, lowered at its first use; perhaps a template
    Local,       // `value`: a variable, parameter, binding or capture of the function being lowered
    Enumerator,  // `constant`, of `type`
    Argument,    // a template parameter, bound: `argument`
    LocalPack,   // a function's parameter pack: `locals`
  };
  Kind kind = Kind::Type;
  std::string_view name;
  const ast::Declaration* declaration = nullptr;
  Scope* scope = nullptr;            // of a Namespace: its own scope; else the scope of the declaration
  Class* owner = nullptr;            // of a member
  const Symbol* original = nullptr;  // for the name of a struct inside itself: the symbol outside
  const Type* type = nullptr;
  const ir::Expression* constant = nullptr;
  TemplateArgument argument;
  struct Value* value = nullptr;
  std::vector<struct Value*> locals;
  // Of a Type or Variable template: its specialisations. Of a function: its declarations without a body, before or
  // after.
  std::vector<const ast::Declaration*> others;
};

// The name of constructors in the scope of a class.
inline constexpr std::string_view kConstructorName = "<constructor>";

// ---- Scopes --------------------------------------------------------------------------------------------------------

struct Scope {
  enum class Kind : uint8_t { Namespace, Class, Template, Function, Block };
  Kind kind = Kind::Namespace;
  Scope* parent = nullptr;  // where the lookup continues
  std::string_view name;
  Class* owner = nullptr;  // of a Class scope
  std::unordered_map<std::string_view, std::vector<Symbol*>> symbols;
  std::vector<Scope*> used;   // using namespace; inline and anonymous namespaces inside it
  std::vector<Scope*> bases;  // of a Class scope

  std::span<Symbol* const> own(std::string_view wanted) const {  // declared in this scope
    const auto found = symbols.find(wanted);
    return found == symbols.end() ? std::span<Symbol* const>() : std::span<Symbol* const>(found->second);
  }
};

// ---- Classes and functions -----------------------------------------------------------------------------------------

// A base or a member of a struct, as it was written.
struct Member {
  std::string name;
  const Type* type = nullptr;
  uint32_t align = 1;
  static constexpr uint32_t kNoField = UINT32_MAX;  // an empty base, which takes no space
  uint32_t field = 0;                               // its number in the type, unless the struct is stored in words
};

// A struct, or one instance of a struct template.
struct Class {
  const ast::Declaration* declaration = nullptr;  // the chosen one, primary or specialised
  TemplateArguments arguments;
  TemplateArguments bound;  // those of the chosen declaration, if it is a specialisation; else as above
  Scope* scope = nullptr;   // its members; parent: its template bindings, then the scope of its declaration
  Type* type = nullptr;
  std::vector<Class*> bases;       // they come first in `members`; those with fields come first in type->fields
  std::vector<Member> members;     // none of a lambda
  bool in_words = false;           // a union whose type has one field, an array of words (lowering/code_writer.cc)
  const Symbol* symbol = nullptr;  // from which it was instantiated: all instances of a template share it
  uint32_t ancestors = 0;          // bases, and their bases, each as often as it occurs
  bool is_completing = false;
  bool is_broken = false;   // completing it failed, and was reported then
  bool is_closure = false;  // a lambda's: `call` is its operator()
  const ast::Lambda* lambda = nullptr;
  struct Captured {
    std::string_view name;
    bool by_reference = false;  // its field is a pointer
    bool is_pack = false;       // one of the elements of a pack of that name
  };
  std::vector<Captured> captures;  // of a lambda, one for each field
  std::vector<std::string_view> captured_packs;
  // Of the name of a function as a value: the candidates; by a pointer, also the types of its parameters.
  const struct OverloadSet* function = nullptr;
  bool has_signature = false;
  std::vector<QualifiedType> function_parameters;
};

Class* class_named(const Type* type);  // perhaps not complete yet; null: not a struct

struct Parameter {
  std::string_view name;
  QualifiedType type;  // with references
  const ast::Declaration* declaration = nullptr;
};

// A function with all its types known.
struct FunctionInstance {
  const ast::Declaration* declaration = nullptr;
  Class* owner = nullptr;            // of a member; its first IR parameter is `this`, a pointer, unless it is static
  bool is_static = false;            // a member without an object, by its declaration in the struct
  Space this_space = Space::Thread;  // of the object for which it was instantiated
  bool this_const = false;
  TemplateArguments arguments;
  Scope* scope = nullptr;             // bindings of its template parameters; parent: the scope of its declaration
  std::vector<Parameter> parameters;  // packs are expanded; types are those of this instance (see Overloads::instance)
  const Type* result = nullptr;       // null until an `auto` result was deduced, which happens when the body is lowered
  bool result_is_reference = false;   // the IR function returns a pointer
  ir::Function* function = nullptr;
  bool is_recursive = false;  // it was called while its body was lowered
  enum class State : uint8_t { Declared, Lowering, Lowered, Failed } state = State::Declared;
};

// ---- Values --------------------------------------------------------------------------------------------------------

// A lowered expression.
struct Value {
  const ir::Expression* ir = nullptr;
  const Type* type = nullptr;  // of the language, never a reference; for a place of a packed vector the packed type
  bool is_place = false;
  bool is_const = false;
  Space space = Space::Thread;  // of a place: its address space
  bool is_constant = false;     // a place in thread memory that the source declares in constant memory, or its address
  // Things that are not values yet:
  const ast::Expression* braces = nullptr;  // {…}: gets its type from the object that it initializes
  Scope* braces_scope = nullptr;
  bool is_null = false;  // nullptr
  bool is_literal_zero = false;
  // A place in a union: `ir` is its words. See lowering/code_writer.cc.
  bool in_words = false;
  uint32_t view_at = 0;                        // its first byte
  const ir::Expression* view_index = nullptr;  // and this many bytes more; null: none
  const FunctionInstance* home = nullptr;      // of a Local: its function
  const ir::Expression* kept = nullptr;        // of a place: its contents when it was evaluated
};

// The name of a function, or of a member function with its object: the candidates of a call.
struct OverloadSet {
  std::string_view name;
  std::vector<const Symbol*> candidates = {};
  bool has_arguments = false;        // f<int>(…)
  TemplateArguments arguments = {};  // explicit ones
  std::optional<Value> object = {};  // x.f(…), or the implicit *this
  Location at = {};
  bool is_qualified = false;    // a::f: no lookup in the namespaces of the arguments
  bool allows_builtin = false;  // an unqualified name, or one in metal::
  bool is_used = false;         // "using namespace" made all candidates visible: none hides a builtin
};

// ---- Helpers -------------------------------------------------------------------------------------------------------

inline std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }
inline std::string in_quotes(const Type* type) { return in_quotes(TypeTable::name(type)); }

std::string types_of(std::span<const Value> values);  // for messages: "(float, int)"
inline std::string types_of(std::initializer_list<Value> values) {
  return types_of(std::span(values.begin(), values.size()));
}

inline bool is_small_float(const Type* type) {
  return type->scalar()->is(TypeKind::Half) || type->scalar()->is(TypeKind::BFloat);
}

inline bool is_void(const Value& value) { return value.type != nullptr && value.type->is(TypeKind::Void); }

// Whether a field is a struct or union without a name, whose members are used as members of the struct around it.
inline bool is_unnamed_field(std::string_view name) { return name.find('#') != std::string_view::npos; }

inline bool is_read_only(Space space) { return space == Space::Constant || space == Space::Program; }

}  // namespace kymo::shader
