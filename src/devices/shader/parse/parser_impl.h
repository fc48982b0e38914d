// The implementation of the parser: one object parses one list of tokens.
//
// Nothing is parsed twice. If the beginning of a type and of a value look the same, the name is parsed once
// (peek_head), the next token decides, and the following code uses the parsed name. Bodies inside a struct are skipped,
// and parsed when the struct is complete, because they may use later declarations.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/parse/ast.h"
#include "shader/parse/parser_names.h"
#include "shader/parse/words.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {

class ParserImpl {
 public:
  ParserImpl(ast::Tree& tree, Diagnostics& diagnostics, ParserNames& names, const std::vector<Token>& tokens);
  void run();

 private:
  using ExpressionKind = ast::ExpressionKind;
  using Declarations = std::vector<const ast::Declaration*>;
  using Expressions = std::vector<const ast::Expression*>;

  static constexpr int kMaxNesting = 200;       // of everything that nests
  static constexpr uint32_t kMaxHeight = 500;   // of an expression: a + b + c + … grows to the left without nesting
  static constexpr size_t kMaxLookahead = 512;  // max number of tokens for a lookahead

  // ---- Data structures

  enum class Place : uint8_t { Namespace, Struct, Block, Parameter, TypeOnly };
  enum class Naming : uint8_t { Required, Optional, Never };

  // template <…>, before a declaration.
  struct Header {
    std::vector<ast::TemplateParameter> parameters;
    Location at;
  };

  struct Context {
    Place place = Place::Namespace;
    Declarations* out = nullptr;
    std::vector<Header>* headers = nullptr;  // the outermost first
    bool may_range = false;                  // in for (…): a declaration may end with ':'
    bool is_instantiation = false;           // template f<int>(…);
    bool is_friend = false;
  };

  // The beginning of a type or a value: a name, `typename` and a name, `unsigned long`, decltype(…).
  struct Head {
    size_t begin = kNowhere, end = kNowhere;  // tokens
    ast::Name name;
    Location at;
    const ast::Expression* decltype_of = nullptr;
    NameMeaning meaning;
    NameScope* scope = nullptr;  // in which the last part was looked up, if it is known
    Word last = Word::End;       // the last part, if it is a plain name
    bool is_type = false;
    bool is_function = false;  // an operator, a destructor, a constructor (S::S followed by a parenthesis)
  };
  static constexpr size_t kNowhere = ~size_t{0};

  // Everything before the declarators.
  struct Specifiers {
    Location at;
    ast::TypeName* type = nullptr;  // null: there is none, as in a constructor
    NameScope* members = nullptr;   // of that type, if they are known
    bool is_const = false;
    std::optional<Space> space;
    bool is_typedef = false, is_static = false, is_inline = false, is_constexpr = false, is_explicit = false;
    bool is_mutable = false;
    bool is_kernel = false;
    bool defines = false;  // a struct or an enum
    std::string_view other_stage;
    std::vector<ast::Attribute> attributes;
  };

  struct Declarator {
    Head name;  // without parts: none
    const ast::TypeName* type = nullptr;
    bool is_pack = false;
    std::vector<ast::Attribute> attributes;
    Location at;
    bool has_name() const { return !name.name.parts.empty(); }
    std::string_view text() const { return name.name.parts.back().name; }
  };

  // The struct whose members are being parsed.
  struct StructContext {
    ast::Declaration* declaration = nullptr;
    NameScope* scope = nullptr;
    Word name = Word::End;
    ast::Access access = ast::Access::Public;
    const StructContext* outer = nullptr;
  };

  // A body that is parsed when the struct around it is complete.
  struct Delayed {
    ast::Declaration* function = nullptr;
    size_t begin = 0;
    NameScope* scope = nullptr;
    const ast::Declaration* parent = nullptr;
    const StructContext* friend_of = nullptr;
  };

  // Restores a value when it is destroyed.
  template <typename T>
  class Keep {
   public:
    Keep(T& value, T meanwhile) : value_(value), before_(std::exchange(value, meanwhile)) {}
    ~Keep() { value_ = before_; }
    Keep(const Keep&) = delete;
    Keep& operator=(const Keep&) = delete;

   private:
    T& value_;
    T before_;
  };

  class Nesting {
   public:
    explicit Nesting(ParserImpl& parser);
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  // ---- Tokens, errors (parser.cc)

  Word word(size_t ahead = 0) const { return words_[index_ + ahead]; }
  Word word_at(size_t index) const { return index < words_.size() ? words_[index] : Word::End; }
  const Token& token() const { return token_at(index_); }
  const Token& token_at(size_t index) const;
  const Location& at() const { return token().at; }
  bool is(Word wanted) const { return words_[index_] == wanted; }
  void advance() { index_ += words_[index_] != Word::End ? 1 : 0; }
  bool take(Word wanted);
  // `where`: "after the arguments of", with a name in `of`; the message is built only if it is needed.
  void expect(Word wanted, std::string_view where, std::string_view of = {});
  void expect_semicolon(std::string_view behind, std::string_view of = {});
  std::string found() const;  // the next token, for messages
  [[noreturn]] void fail(std::string text) const;
  [[noreturn]] static void fail(const Location& at, std::string text);
  [[noreturn]] void fail_expected(std::string_view what) const;  // says what was found instead
  [[noreturn]] void refuse(std::string_view what) const;
  [[noreturn]] void fail_at_word();  // a keyword that is not allowed here, or a feature that is not supported
  void report(const Rejected& rejected);
  void recover(size_t start);  // continues after the declaration or statement that began there
  // The index after the closing parenthesis, bracket or brace for the one at index.
  size_t behind_group(size_t index) const;
  bool at_shift_right() const;  // ">>", as two tokens
  bool at_attributes() const { return is(Word::LeftBracket) && word(1) == Word::LeftBracket; }
  void parse_attributes(std::vector<ast::Attribute>& into);  // all of them, also __attribute__ and alignas
  ast::Attribute parse_attribute();
  void parse_gnu_attributes(std::vector<ast::Attribute>& into);

  // ---- Names (parse_types.cc)

  Head& peek_head(bool as_type);  // as_type: only a type is allowed here
  Head take_head(bool as_type);
  bool at_head() const;                // a name, `typename`, `unsigned`…
  static bool begins_type(Word word);  // const, an address space, struct, …: only a type begins so
  Head parse_head(bool as_type);
  void parse_name(Head& head, bool as_type, bool in_decltype = false);  // in_decltype: after decltype(x)
  void parse_decltype_member(Head& head, bool as_type);
  static bool is_number_word(Word word);  // several of these make a type
  void parse_builtin(Head& head);         // unsigned long int
  static ast::NamePart plain_part(std::string_view name, const Location& at);
  ast::NamePart parse_part(Head& head);
  void parse_operator(ast::NamePart& part);
  void look_up(Head& head, bool in_scope);
  // The name of a member in a friend function, which is not a member.
  void qualify_friend(Head& head, ast::NamePart& part, bool has_arguments);
  ast::NamePart name_of(const StructContext& self, const Location& at);
  ast::Name parse_member_name();  // after . and ->

  // ---- Types (parse_types.cc)

  bool at_type();  // in parentheses and among template arguments, where both a type and a value are allowed
  // `defined`: where a struct that it defines is added; null: it must not define one.
  const ast::TypeName* parse_type(NameScope** members = nullptr, Declarations* defined = nullptr);
  Specifiers parse_specifiers(const Context& context);
  bool parse_specifier(Specifiers& specifiers, const Context& context);
  bool parse_storage(Specifiers& specifiers, const Context& context);
  bool at_coherent() const;  // coherent, coherent(system): a qualifier of pointers
  bool parse_qualifier(bool& is_const, std::optional<Space>& space);
  ast::TypeName* make_type(Head head);
  ast::TypeName* make_named_type(std::string_view name, const Location& at);
  Declarator parse_declarator(const ast::TypeName* base, Naming naming);
  const ast::TypeName* parse_pointers(const ast::TypeName* base);
  const ast::TypeName* parse_arrays(const ast::TypeName* element);
  const ast::TypeName* parse_function_type(const ast::TypeName* result);
  bool at_nested_declarator() const;
  bool begins_parameter(size_t index) const;
  bool is_scoped_value(size_t index) const;  // S::x that is known and is not a type
  size_t behind_type(size_t index) const;    // after a type's name that begins there; the same index: there is none

  // ---- Declarations (parse_declarations.cc)

  void parse_or_recover(const Context& context);
  void parse_declaration(const Context& context);
  void parse_simple_declaration(const Context& context);
  bool at_forgotten_semicolon() const;
  bool parse_declarators(const Specifiers& specifiers, const Context& context);  // true: a body ended it
  void parse_namespace(const Context& context);
  void parse_namespace_alias(const Context& context);
  void parse_namespace_part(const Context& context, bool is_inline);  // a::b::c creates nested namespaces
  bool at_deduction_guide(const Context& context) const;
  void parse_using(const Context& context);
  void parse_alias(const Context& context);
  void parse_using_names(const Context& context);
  void parse_static_assert(const Context& context);
  void add_alias(const Specifiers& specifiers, Declarator declarator, const Context& context);
  void parse_variable(const Specifiers& specifiers, Declarator declarator, const Context& context);
  void parse_initializer(ast::Declaration& variable, const Context& context);
  [[noreturn]] void refuse_bit_field() const;
  void parse_structured(const Specifiers& specifiers, const Context& context);
  bool at_structured() const;
  bool at_parameters() const;  // T f(…): a function's, not a variable's arguments

  bool parse_function(const Specifiers& specifiers, Declarator declarator, const Context& context);
  void parse_parameters(ast::Declaration& function);
  const ast::Declaration* parse_parameter(ast::Declaration& function);
  void parse_behind_parameters(ast::Declaration& function);
  bool parse_function_end(ast::Declaration& function, const Context& context, NameScope* scope);
  void parse_body(ast::Declaration& function);  // with member initializers
  void parse_member_initializers(ast::Declaration& function);
  void skip_body();
  void parse_delayed(std::vector<Delayed>& delayed);
  void parse_friend(const Context& context);

  ast::Declaration& add(ast::DeclarationKind kind, const Location& at, const Context& context);
  static void set_specifiers(ast::Declaration& declaration, const Specifiers& specifiers,
                             const Declarator* declarator = nullptr);
  void set_name(ast::Declaration& declaration, Head name);
  void set_headers(ast::Declaration& declaration, const Context& context);
  // In the nearest scope that does not belong to a template.
  void declare(Word name, uint8_t flags, NameScope* members = nullptr);
  void declare_as(const ast::Declaration& declaration, Word name, uint8_t flags, NameScope* members = nullptr);
  NameScope* home() const;

  // ---- Templates, structs, enums (parse_templates.cc, parse_structs.cc)

  bool looks_like_arguments(size_t less) const;
  size_t behind_arguments(size_t less) const;  // after the ">" that belongs to it; the same index: there is none
  void parse_template_arguments(ast::NamePart& part);
  void parse_template(const Context& context);
  Header parse_header();
  ast::TemplateParameter parse_template_parameter();
  void parse_type_parameter(ast::TemplateParameter& parameter);
  void parse_value_parameter(ast::TemplateParameter& parameter);
  void parse_instantiation(const Context& context);

  ast::Declaration* begin_struct(ast::DeclarationKind kind, const Location& where, Head& head, Specifiers& specifiers,
                                 const Context& context);
  void parse_struct(Specifiers& specifiers, const Context& context);
  void parse_struct_body(StructContext& self);
  void parse_members(StructContext& self);
  void parse_bases(ast::Declaration& made, NameScope* scope);
  void parse_enum(Specifiers& specifiers, const Context& context);
  void parse_enumerators(ast::Declaration& made, NameScope* scope);
  void name_unnamed(ast::Declaration& made, const Specifiers& specifiers, const Context& context, NameScope* scope);

  // ---- Statements (parse_statements.cc)

  const ast::Statement* parse_block();
  void parse_statements(std::vector<const ast::Statement*>& into);  // up to the brace
  const ast::Statement* parse_statement();
  const ast::Statement* parse_substatement();  // of if, for, …
  const ast::Statement* parse_if();
  const ast::Statement* parse_while();
  const ast::Statement* parse_do();
  const ast::Statement* parse_for();
  const ast::Statement* parse_switch();
  const ast::Statement* parse_return();
  const ast::Statement* parse_label();
  const ast::Statement* parse_simple_statement();
  void parse_condition(ast::Statement& statement, bool may_init);
  ast::Statement& make_statement(ast::StatementKind kind);
  bool at_declaration();

  // ---- Expressions (parse_expressions.cc)

  ast::Expression* parse_expression();  // with commas
  ast::Expression* parse_assignment();
  ast::Expression* parse_conditional();
  ast::Expression* parse_binary(int least);
  ast::Expression* parse_cast();
  ast::Expression* parse_unary();
  ast::Expression* parse_postfix();
  ast::Expression* parse_sizeof();
  ast::Expression* parse_initializer_clause();  // {…} or an assignment
  bool at_cast();

  ast::Expression* parse_primary();
  ast::Expression* parse_plain_primary();
  ast::Expression* parse_string();
  ast::Expression* parse_parenthesis();
  ast::Expression* parse_fold(ast::Expression* first, bool first_is_pack, const Location& where);
  ast::Expression* parse_named();
  ast::Expression* parse_named_cast();
  bool at_type_trait() const;  // __is_empty(…)
  ast::Expression* parse_offset();
  ast::Expression* parse_bit_cast();
  ast::Expression* parse_type_trait();
  ast::Expression* parse_construction(const ast::TypeName* type);  // T(…), T{…}
  void parse_designated(ast::Expression& braces);
  bool at_indexed() const;
  ast::Expression* parse_indexed();
  ast::Expression* parse_braces(const ast::TypeName* type);
  void parse_arguments(Expressions& into, Word end, std::string_view where, std::string_view of = {});
  ast::Expression* parse_lambda();
  void parse_captures(ast::Lambda& lambda);

  ast::Expression& make_expression(ast::ExpressionKind kind, const Location& at);
  ast::Expression* finish(ast::Expression& expression);  // its operands are set
  int binary_precedence() const;                         // of the next operator; 0: there is none

  ast::Tree& tree_;
  Diagnostics& diagnostics_;
  ParserNames& names_;
  const std::vector<Token>& tokens_;
  Token end_;
  std::vector<Word> words_;
  size_t index_ = 0;

  int depth_ = 0;
  uint32_t tallest_ = 0;                // of the expressions in the innermost primary one
  bool in_template_arguments_ = false;  // ">" ends an expression
  bool end_reported_ = false;
  size_t packs_seen_ = 0;  // number of pack names so far
  size_t invented_ = 0;    // number of invented names
  Head pending_;

  NameScope* scope_ = nullptr;
  const ast::Declaration* parent_ = nullptr;
  const ast::Declaration* namespace_ = nullptr;
  Declarations* namespace_members_ = nullptr;
  StructContext* struct_ = nullptr;           // null: not directly in a struct
  const StructContext* friend_of_ = nullptr;  // of the friend function that is being parsed
  std::deque<StructContext> structs_;
  std::vector<Delayed>* delayed_ = nullptr;  // null: bodies are parsed in place
};

}  // namespace kymo::shader
