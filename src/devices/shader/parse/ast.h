// The syntax tree of a source, as it was written. Only what the parser itself needs is resolved: whether a name is a
// type or a template (from the parser's own table of names).
//
// Nodes live as long as their Tree. They are never changed after parsing, so that one tree serves every instantiation.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "shader/containers.h"
#include "shader/diagnostic.h"
#include "shader/types/type.h"

namespace kymo::shader::ast {

struct Expression;
struct Statement;
struct Declaration;
struct TypeName;

// ---- Names ---------------------------------------------------------------------------------------------------------

// A type or a value. A bare name that may be either is stored as a value (an Expression of kind Name).
struct TemplateArgument {
  const TypeName* type = nullptr;
  const Expression* value = nullptr;
  bool is_expansion = false;  // followed by ...
};

struct NamePart {
  std::string_view name;  // "operator+", "operator()", "operator[]"; "operator" with `conversion`; "~S"
  const TypeName* conversion = nullptr;
  const Expression* decltype_of = nullptr;  // the first part of decltype(x)::member, which has no name
  bool has_arguments = false;
  std::vector<TemplateArgument> arguments;
  Location at;
};

// a::b<c>::d; parts is never empty.
struct Name {
  bool from_global = false;  // ::a
  std::vector<NamePart> parts;
  const NamePart& last() const { return parts.back(); }
};

// [[buffer(0)]], [[host_name("x")]], [[thread_position_in_grid]], [[kymo::op(…)]]
struct Attribute {
  std::string_view name;  // with its scope: "kymo::op"
  std::vector<const Expression*> arguments;
  Location at;
};

// ---- Types ---------------------------------------------------------------------------------------------------------

enum class TypeForm : uint8_t {
  Named,     // `name`: float, unsigned int (as "uint"), S, vec<T, 4>, typename T::type, auto, void
  Decltype,  // of `expression`
  Pointer,
  Reference,
  RvalueReference,
  Array,     // of `expression` elements; without: as many as its initializer has
  Function,  // `inner` returns; `parameters`
};

struct TypeName {
  TypeForm form = TypeForm::Named;
  Location at;
  Name name;                   // builtin types by their Metal names: "uint" for `unsigned`, "short" for `short int`
  bool is_const = false;       // of the whole type: `const float`, `float* const`
  std::optional<Space> space;  // the address space of an object of it: device, constant, threadgroup, thread
  const Expression* expression = nullptr;
  // The target of a pointer or reference, the element of an array, the result of a function.
  const TypeName* inner = nullptr;
  std::vector<const TypeName*> parameters;
  bool is_expansion = false;  // followed by ...: a base, a parameter of a Function
};
// `device const float* p` is Pointer{inner = Named{float, is_const, space = device}}.
// `threadgroup float a[4]` is Array{inner = Named{float, space = threadgroup}}.

// ---- Expressions ---------------------------------------------------------------------------------------------------

enum class ExpressionKind : uint8_t {
  Integer,    // `text`, as written
  Float,      // `text`
  Character,  // `text`
  String,     // `text`, joined, without quotes, escapes undone
  Bool,       // `flag`
  Nullptr,
  Name,         // `name`; `this` too
  Unary,        // `op` operands[0]: + - ! ~ * & ++ -- (before)
  Postfix,      // operands[0] `op`: ++ --
  Binary,       // all except assignment; "," too
  Assign,       // = += -= *= /= %= &= |= ^= <<= >>=
  Conditional,  // ? :
  Call,         // operands[0] (the rest …)
  Index,        // operands[0] [ operands[1] ]
  Member,       // operands[0] . name   or -> (`flag`)
  Cast,  // `type`; `text` "" for (T)x and T(x), T(x, y, …), T(), else "static_cast", "reinterpret_cast", "as_type"…
  Braces,      // {…}, or T{…} if `type` is set
  Indexed,     // [first] = value and [first ... last] = value, in Braces: operands: value, first, perhaps last
  Lambda,      // `lambda`
  SizeofType,  // `type`; alignof if `text` says so, or offsetof: `name` has the members
  SizeofValue,
  SizeofPack,  // sizeof...(name)
  TypeTrait,   // __is_empty(T), __is_convertible(T, U): `name`, the types are the arguments of its only part
  Fold,        // (pack op ...), (... op pack), (init op ... op pack): `fold_left`; operands: pack, or init and pack
};

enum class CaptureDefault : uint8_t { None, Copy, Reference };

struct Capture {
  std::string_view name;  // "this" too: by reference, or by copy for [*this]
  bool by_reference = false;
  const Expression* value = nullptr;  // [x = value]
  Location at;
  bool is_expansion = false;  // [args...]
};

struct Lambda {
  CaptureDefault capture_default = CaptureDefault::None;
  std::vector<Capture> captures;
  const Declaration* function = nullptr;  // parameters, return type, body; a template if a parameter is auto
  bool is_mutable = false;
};

struct Expression {
  ExpressionKind kind = ExpressionKind::Integer;
  Location at;
  std::string_view op;  // "+=", …
  std::string_view text;
  bool flag = false;
  bool fold_left = false;
  bool is_expansion = false;  // followed by ... in an argument list
  std::vector<const Expression*> operands;
  Name name;
  const TypeName* type = nullptr;
  const Lambda* lambda = nullptr;
  std::vector<std::string_view> fields;  // of Braces with {.x = …}: the name for each operand; else empty
  uint32_t height = 1;  // max height of the tree below; limited, so that a recursive walk needs no check
};

// ---- Statements ----------------------------------------------------------------------------------------------------

enum class StatementKind : uint8_t {
  Empty,
  Block,       // `statements`
  Expression,  // `expression`
  Declare,     // `declarations`
  If,          // `is_constexpr`; `init`; `condition` or `declarations` (if (auto x = …)); body; otherwise
  While,
  DoWhile,
  For,       // init; condition; step (an expression); body
  RangeFor,  // declarations[0] : expression
  Switch,
  Case,  // `expression`; the statements of the case follow in the same block
  Default,
  Break,
  Continue,
  Return,
};

struct Statement {
  StatementKind kind = StatementKind::Empty;
  Location at;
  bool is_constexpr = false;
  uint16_t unroll = 0;  // of a loop: the wish of the pragma before it (preprocess/lexer.h)
  std::vector<const Statement*> statements;
  std::vector<const Declaration*> declarations;
  const Expression* expression = nullptr;
  const Expression* step = nullptr;
  const Statement* init = nullptr;
  const Statement* body = nullptr;
  const Statement* otherwise = nullptr;
};

// ---- Declarations --------------------------------------------------------------------------------------------------

enum class DeclarationKind : uint8_t {
  Namespace,              // `name`, `members`; inline if `is_inline`; `name` empty: the anonymous one
  UsingDirective,         // using namespace `target`
  Using,                  // using a::b: `target`
  NamespaceAlias,         // namespace name = target
  Alias,                  // using name = type; typedef type name; a template if `parameters` is not empty
  Struct,                 // struct, class, union: `members`; `is_definition`; a specialisation if `specialised`
  Enum,                   // `enumerators`, `type` (underlying), `is_scoped`
  Function,               // also a member, a constructor (no `type`), an operator
  Variable,               // also a field, a parameter
  Structured,             // auto [a, b] = initializer: `bindings`
  StaticAssert,           // `initializer`, `text`
  ExplicitInstantiation,  // template … f<T>(…);  `inner` is the function's or struct's declaration
};

struct TemplateParameter {
  std::string_view name;  // may be empty
  bool is_type = true;
  bool is_pack = false;
  bool is_template = false;        // template <typename> class F
  const TypeName* type = nullptr;  // of a value
  TemplateArgument fallback;       // = …
  Location at;
};

struct Enumerator {
  std::string_view name;
  const Expression* value = nullptr;
  Location at;
};

enum class Access : uint8_t { Public, Protected, Private };

struct Declaration {
  DeclarationKind kind = DeclarationKind::Variable;
  Location at;            // of the name
  std::string_view name;  // empty: none; an operator's as in NamePart
  Name qualified;         // S<T>::f, or f<int>: the whole name if it had scopes or arguments; else no parts
  const Declaration* parent = nullptr;  // the namespace or struct that contains it; null: the global namespace
  std::vector<Attribute> attributes;
  const Attribute* attribute(std::string_view wanted) const {  // null: it has none of this name
    for (const Attribute& each : attributes)
      if (each.name == wanted) return &each;
    return nullptr;
  }
  Access access = Access::Public;

  bool is_template = false;  // also `template <>`, with empty `parameters`
  std::vector<TemplateParameter> template_parameters;
  const Declaration* enclosing_template = nullptr;  // of a member that is defined outside: its outer template<…>

  bool is_constexpr = false, is_static = false, is_inline = false, is_definition = false, is_scoped = false;
  bool is_mutable = false;          // a member that may be written in a const object
  bool is_const = false;            // a member function
  std::optional<Space> this_space;  // `void f() device`
  bool is_kernel = false;           // kernel, or [[kernel]]
  bool is_variadic = false;         // a pack: `Args... args`
  bool is_defaulted = false, is_deleted = false, is_explicit = false, is_union = false;
  std::string_view other_stage;  // "vertex", "fragment", …: refused when it is used

  // The type of a variable or alias, the result of a function; null: a constructor, destructor, namespace…
  const TypeName* type = nullptr;
  const TypeName* conversion = nullptr;        // operator T()
  std::vector<const Declaration*> parameters;  // of a function
  const Statement* body = nullptr;
  const Expression* initializer = nullptr;  // = x; {…} as Braces; (…) as Cast of the type, with `direct`
  bool direct = false;
  std::vector<const Expression*> direct_arguments;  // T x(a, b)
  struct MemberInitializer {
    Name name;
    std::vector<const Expression*> arguments;  // x{…}: one, of kind Braces
    Location at;
    bool is_expansion = false;  // Bases(args)...
  };
  std::vector<MemberInitializer> member_initializers;
  std::vector<const TypeName*> bases;

  std::vector<const Declaration*> members;
  std::vector<Enumerator> enumerators;
  std::vector<std::string_view> bindings;
  Name target;
  std::string_view text;
  const Declaration* inner = nullptr;
};

// ---- The whole -----------------------------------------------------------------------------------------------------

class Tree {
 public:
  Tree() = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::vector<const Declaration*> declarations;  // of the global namespace
  bool names_thread_elements = false;            // the source does, anywhere

  Expression& make_expression() { return expressions_.make(); }
  Statement& make_statement() { return statements_.make(); }
  Declaration& make_declaration() { return declarations_.make(); }
  TypeName& make_type() { return types_.make(); }
  Lambda& make_lambda() { return lambdas_.make(); }
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  Pool<Expression> expressions_;
  Pool<Statement> statements_;
  Pool<Declaration> declarations_;
  Pool<TypeName> types_;
  Pool<Lambda> lambdas_;
  std::deque<std::string> texts_;
};

}  // namespace kymo::shader::ast
