// Declarations: namespaces, using, variables, functions, and what all declarations have in common.

#include <algorithm>

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

void ParserImpl::parse_or_recover(const Context& context) {
  const size_t start = index_, made = context.out->size(), friends = namespace_members_->size();
  try {
    parse_declaration(context);
  } catch (const Rejected& rejected) {
    // Incomplete declarations are not added to the tree.
    context.out->resize(std::min(made, context.out->size()));
    namespace_members_->resize(std::min(friends, namespace_members_->size()));
    report(rejected);
    pending_ = Head();
    recover(start);
  }
}

void ParserImpl::parse_declaration(const Context& context) {
  const bool is_templated = context.headers != nullptr;
  switch (word()) {
    case Word::Semicolon:
    case Word::Namespace:
    case Word::StaticAssert:
    case Word::Template:
      if (is_templated) fail_expected("a function, a struct, an alias or a variable after \"template <...>\"");
      break;
    default:
      break;
  }
  switch (word()) {
    case Word::Semicolon:
      advance();
      return;
    case Word::Namespace:
      return parse_namespace(context);
    case Word::StaticAssert:
      return parse_static_assert(context);
    case Word::Template:
      return parse_template(context);
    case Word::Using:
      return parse_using(context);
    case Word::Friend:
      if (context.place == Place::Struct) return parse_friend(context);
      return parse_simple_declaration(context);
    case Word::Inline:
      if (word(1) == Word::Namespace) return parse_namespace(context);
      return parse_simple_declaration(context);
    case Word::Extern:
      if (word(1) == Word::Template) {  // declares an instantiation in another place
        while (!is(Word::Semicolon) && !is(Word::End)) advance();
        return expect_semicolon("the declaration");
      }
      return parse_simple_declaration(context);
    case Word::Asm:
    case Word::Concept:
    case Word::Requires:
      fail_at_word();
    default:
      if (at_deduction_guide(context))
        fail("deduction guides are not supported: write the arguments of the template where it is used");
      return parse_simple_declaration(context);
  }
}

bool ParserImpl::at_deduction_guide(const Context& context) const {
  return context.place == Place::Namespace && is_name(word()) && word(1) == Word::LeftParen &&
         word_at(behind_group(index_ + 1)) == Word::Arrow;
}

void ParserImpl::parse_simple_declaration(const Context& context) {
  const Specifiers specifiers = parse_specifiers(context);
  if (specifiers.defines && (is(Word::Semicolon) || at_forgotten_semicolon())) {
    const auto& parts = specifiers.type->name.parts;
    if (parts.empty()) return expect_semicolon("the declaration");
    return expect_semicolon("the declaration of", parts.back().name);
  }
  if (specifiers.type == nullptr && !is(Word::Operator) && !is(Word::Tilde) && !is_name(word()) && !is(Word::Scope)) {
    fail_expected("a declaration");
  }
  if (parse_declarators(specifiers, context)) return;
  const Declarations& made = *context.out;
  const std::string_view name = made.empty() ? std::string_view() : made.back()->name;
  expect_semicolon(name.empty() ? "the declaration" : "the declaration of", name);
}

// struct S {…}, and a new line that begins something else.
bool ParserImpl::at_forgotten_semicolon() const {
  if (is(Word::End) || is(Word::RightBrace)) return true;
  if (is_alphabetic(word()) && !is_name(word()) && !is(Word::Operator)) return true;
  if (!token().line_start || is(Word::Star) || is(Word::Amp)) return false;
  const Word behind = word(1);
  return !is_name(word()) || (behind != Word::Semicolon && behind != Word::Comma && behind != Word::Equal &&
                              behind != Word::LeftBracket && behind != Word::LeftBrace);
}

bool ParserImpl::parse_declarators(const Specifiers& specifiers, const Context& context) {
  do {
    if (specifiers.type != nullptr && at_structured()) {
      parse_structured(specifiers, context);
      continue;
    }
    if (specifiers.type != nullptr && context.place == Place::Struct && is(Word::Colon)) refuse_bit_field();
    Declarator declarator = parse_declarator(specifiers.type, Naming::Required);
    if (specifiers.is_typedef) {
      add_alias(specifiers, std::move(declarator), context);
    } else if (is(Word::LeftParen) && (declarator.name.is_function || context.place == Place::Struct ||
                                       (context.place == Place::Namespace && at_parameters()))) {
      if (parse_function(specifiers, std::move(declarator), context)) return true;
    } else {
      parse_variable(specifiers, std::move(declarator), context);
    }
  } while (take(Word::Comma));
  return false;
}

// ---- Namespaces ----------------------------------------------------------------------------------------------------

void ParserImpl::parse_namespace(const Context& context) {
  const bool is_inline = take(Word::Inline);
  advance();
  std::vector<ast::Attribute> dropped;
  parse_attributes(dropped);
  if (is_name(word()) && word(1) == Word::Equal) return parse_namespace_alias(context);
  if (context.place != Place::Namespace) fail("a namespace cannot be opened inside a struct or a function");
  parse_namespace_part(context, is_inline);
}

void ParserImpl::parse_namespace_alias(const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::NamespaceAlias, at(), context);
  made.name = token().text;
  const Word name = word();
  index_ += 2;
  Head target = parse_head(false);
  made.target = std::move(target.name);
  declare(name, NameMeaning::kNamespace, target.meaning.members);
  expect_semicolon("the declaration of", made.name);
}

void ParserImpl::parse_namespace_part(const Context& context, bool is_inline) {
  const Nesting nesting(*this);
  ast::Declaration& made = add(ast::DeclarationKind::Namespace, at(), context);
  made.is_inline = is_inline;
  const bool has_name = is_name(word());
  const Word name = has_name ? word() : names_.words.word(std::string_view());
  if (has_name) {
    made.name = token().text;
    advance();
  }
  NameScope* inside = names_.own(scope_, name).members;
  if (inside == nullptr || inside->kind != NameScope::Kind::Namespace) {
    inside = names_.open(NameScope::Kind::Namespace, scope_);
    declare(name, NameMeaning::kNamespace, inside);
  }
  if (is_inline || !has_name) names_.follow(scope_, inside);

  const Keep<NameScope*> in_scope(scope_, inside);
  const Keep<const ast::Declaration*> in_parent(parent_, &made);
  const Keep<const ast::Declaration*> in_namespace(namespace_, &made);
  const Keep<Declarations*> in_members(namespace_members_, &made.members);
  const Context members{Place::Namespace, &made.members};
  if (take(Word::Scope)) {
    const bool inner_inline = take(Word::Inline);
    if (!is_name(word())) fail_expected("the name of a namespace");
    return parse_namespace_part(members, inner_inline);
  }
  parse_attributes(made.attributes);
  expect(Word::LeftBrace, "after namespace", made.name);
  while (!is(Word::RightBrace) && !is(Word::End) && !diagnostics_.is_full()) parse_or_recover(members);
  expect(Word::RightBrace, "after the members of namespace", made.name);
}

// ---- using, static_assert ------------------------------------------------------------------------------------------

void ParserImpl::parse_using(const Context& context) {
  if (word(1) == Word::Namespace) {
    ast::Declaration& made = add(ast::DeclarationKind::UsingDirective, at(), context);
    index_ += 2;
    Head target = parse_head(false);
    made.target = std::move(target.name);
    names_.follow(home(), target.meaning.members);
    return expect_semicolon("the using directive");
  }
  if (word(1) == Word::Enum) refuse("\"using enum\" is");
  advance();
  if (is_name(word()) && (word(1) == Word::Equal || word(1) == Word::LeftBracket || word(1) == Word::Attribute)) {
    return parse_alias(context);
  }
  parse_using_names(context);
}

void ParserImpl::parse_alias(const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Alias, at(), context);
  made.name = token().text;
  const Word name = word();
  advance();
  parse_attributes(made.attributes);
  expect(Word::Equal, "after using", made.name);
  set_headers(made, context);
  NameScope* members = nullptr;
  made.type = parse_type(&members, context.out);
  declare(name, static_cast<uint8_t>(NameMeaning::kType | (made.is_template ? NameMeaning::kTemplate : 0)), members);
  expect_semicolon("the declaration of", made.name);
}

void ParserImpl::parse_using_names(const Context& context) {
  do {
    ast::Declaration& made = add(ast::DeclarationKind::Using, at(), context);
    Head target = parse_head(false);
    uint8_t flags = target.meaning.flags & ~(NameMeaning::kBuiltin | NameMeaning::kPack);
    if (flags == 0 && target.is_type) flags = NameMeaning::kType;
    if (target.last != Word::End && flags != 0) declare(target.last, flags, target.meaning.members);
    made.at = target.at;
    made.target = std::move(target.name);
    made.is_variadic = take(Word::Ellipsis);
  } while (take(Word::Comma));
  expect_semicolon("the using declaration");
}

void ParserImpl::parse_static_assert(const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::StaticAssert, at(), context);
  advance();
  expect(Word::LeftParen, "after static_assert");
  made.initializer = parse_assignment();
  if (take(Word::Comma)) {
    if (!is(Word::String)) fail_expected("a text as the second argument of static_assert");
    made.text = parse_string()->text;
  }
  expect(Word::RightParen, "after the arguments of static_assert");
  expect_semicolon("static_assert");
}

// ---- Common parts --------------------------------------------------------------------------------------------------

ast::Declaration& ParserImpl::add(ast::DeclarationKind kind, const Location& at, const Context& context) {
  ast::Declaration& made = tree_.make_declaration();
  made.kind = kind;
  made.at = at;
  made.parent = parent_;
  if (context.place == Place::Struct && struct_ != nullptr) made.access = struct_->access;
  context.out->push_back(&made);
  return made;
}

void ParserImpl::set_specifiers(ast::Declaration& declaration, const Specifiers& specifiers,
                                const Declarator* declarator) {
  declaration.is_static = specifiers.is_static;
  declaration.is_inline = specifiers.is_inline;
  declaration.is_constexpr = specifiers.is_constexpr;
  declaration.is_mutable = specifiers.is_mutable;
  declaration.is_explicit = specifiers.is_explicit;
  declaration.is_kernel = specifiers.is_kernel;
  declaration.other_stage = specifiers.other_stage;
  declaration.attributes = specifiers.attributes;
  if (declarator != nullptr)
    declaration.attributes.insert(declaration.attributes.end(), declarator->attributes.begin(),
                                  declarator->attributes.end());
}

void ParserImpl::set_name(ast::Declaration& declaration, Head name) {
  if (name.name.parts.empty()) return;
  declaration.at = name.at;
  declaration.name = name.name.last().name;
  declaration.conversion = name.name.last().conversion;
  if (name.name.parts.size() > 1 || name.name.from_global || name.name.last().has_arguments) {
    declaration.qualified = std::move(name.name);
  }
}

// A member that is defined outside of a template has that template's header in front of its own.
void ParserImpl::set_headers(ast::Declaration& declaration, const Context& context) {
  if (context.is_friend) {
    for (const StructContext* of = friend_of_; of != nullptr; of = of->outer) {
      const auto& outer = of->declaration->template_parameters;
      declaration.is_template |= of->declaration->is_template;
      declaration.template_parameters.insert(declaration.template_parameters.begin(), outer.begin(), outer.end());
    }
  }
  if (context.headers == nullptr) return;
  std::vector<Header>& headers = *context.headers;
  const auto& parts = declaration.qualified.parts;
  size_t around = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i) around += parts[i].has_arguments ? 1 : 0;
  const ast::Declaration* outer = nullptr;
  for (size_t i = 0; i < headers.size(); ++i) {
    const bool is_own = i + 1 == headers.size() && around < headers.size();
    ast::Declaration& of = is_own ? declaration : tree_.make_declaration();
    of.is_template = true;
    of.enclosing_template = outer;
    of.template_parameters.insert(of.template_parameters.end(), headers[i].parameters.begin(),
                                  headers[i].parameters.end());
    if (is_own) return;
    of.kind = ast::DeclarationKind::Struct;
    of.at = headers[i].at;
    outer = &of;
  }
  declaration.enclosing_template = outer;
}

NameScope* ParserImpl::home() const {
  NameScope* scope = scope_;
  while (scope->kind == NameScope::Kind::Template) scope = scope->parent;
  return scope;
}

void ParserImpl::declare(Word name, uint8_t flags, NameScope* members) { names_.declare(home(), name, flags, members); }

void ParserImpl::declare_as(const ast::Declaration& declaration, Word name, uint8_t flags, NameScope* members) {
  if (!declaration.qualified.parts.empty() || name == Word::End) return;
  declare(name, static_cast<uint8_t>(flags | (declaration.is_template ? NameMeaning::kTemplate : 0)), members);
}

// ---- Variables, fields, typedefs, structured bindings ---------------------------------------------------------------

void ParserImpl::parse_variable(const Specifiers& specifiers, Declarator declarator, const Context& context) {
  if (specifiers.type == nullptr) {
    fail(declarator.at, base::format("expected a type before \"{}\"", declarator.text()));
  }
  if (declarator.name.meaning.is_builtin() && declarator.name.meaning.is_type()) {
    fail(declarator.at, base::format("\"{}\" is a type: nothing else can be called so", declarator.text()));
  }
  if ((specifiers.is_kernel || !specifiers.other_stage.empty()) && !context.is_instantiation) {
    fail(declarator.at, base::format("\"{}\" is a variable: only functions can be kernels", declarator.text()));
  }
  ast::Declaration& made = add(ast::DeclarationKind::Variable, declarator.at, context);
  made.type = declarator.type;
  set_specifiers(made, specifiers, &declarator);
  NameScope* const scope = declarator.name.scope;
  const Word name = declarator.name.last;
  set_name(made, std::move(declarator.name));
  set_headers(made, context);
  if (!context.is_instantiation) declare_as(made, name, NameMeaning::kValue);

  NameScope* inside = scope_;
  if (scope != nullptr) {  // S::x = …: S's names are known
    inside = names_.open(NameScope::Kind::Block, scope_);
    inside->reopened = scope;
  }
  const Keep<NameScope*> in_scope(scope_, inside);
  parse_initializer(made, context);
}

void ParserImpl::parse_initializer(ast::Declaration& variable, const Context& context) {
  const Keep<bool> outside(in_template_arguments_, false);
  if (is(Word::Colon) && context.place == Place::Struct) refuse_bit_field();
  if (take(Word::Equal)) {
    variable.initializer = parse_initializer_clause();
  } else if (is(Word::LeftBrace)) {
    variable.initializer = parse_braces(nullptr);
  } else if (is(Word::LeftParen)) {
    if (word(1) == Word::RightParen) {
      fail(base::format("\"{0}()\" would declare a function: write \"{0}{{}}\", or nothing after the name",
                        variable.name));
    }
    ast::Expression& value = make_expression(ast::ExpressionKind::Cast, at());
    advance();
    parse_arguments(variable.direct_arguments, Word::RightParen, "after the arguments of", variable.name);
    value.type = variable.type;
    value.operands = variable.direct_arguments;
    variable.initializer = finish(value);
    variable.direct = true;
  }
}

void ParserImpl::refuse_bit_field() const {
  fail("bit-fields are not supported: declare an integer, and take its bits by shifts and masks");
}

void ParserImpl::add_alias(const Specifiers& specifiers, Declarator declarator, const Context& context) {
  if (is(Word::LeftParen)) {
    if (!at_parameters()) fail_expected("';' after the name of the type");
    declarator.type = parse_function_type(declarator.type);
  }
  const Word name = declarator.name.last;
  if (name == Word::End || declarator.name.name.parts.size() != 1) {
    fail(declarator.at, "expected a plain name for the type");
  }
  NameScope* members = declarator.type == specifiers.type ? specifiers.members : nullptr;
  declare(name, NameMeaning::kType, members);
  // typedef struct S {…} S;
  const bool is_itself = declarator.type == specifiers.type && specifiers.defines &&
                         specifiers.type->name.last().name == declarator.text();
  if (is_itself) return;
  ast::Declaration& made = add(ast::DeclarationKind::Alias, declarator.at, context);
  made.name = declarator.text();
  made.type = declarator.type;
  made.attributes = std::move(declarator.attributes);
}

// ---- auto [a, b] = x -----------------------------------------------------------------------------------------------

bool ParserImpl::at_structured() const {
  if (is(Word::LeftBracket)) return word(1) != Word::LeftBracket;
  return (is(Word::Amp) || is(Word::AmpAmp)) && word(1) == Word::LeftBracket && word(2) != Word::LeftBracket;
}

void ParserImpl::parse_structured(const Specifiers& specifiers, const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Structured, at(), context);
  const auto& parts = specifiers.type->name.parts;
  if (parts.empty() || parts.back().name != "auto") fail("only \"auto\" can be taken apart: write auto [a, b] = ...");
  made.type = parse_pointers(specifiers.type);
  made.at = at();
  set_specifiers(made, specifiers);
  expect(Word::LeftBracket, "before the names");
  do {
    if (!is_name(word())) fail_expected("a name in the list of names");
    made.bindings.push_back(token().text);
    declare(word(), NameMeaning::kValue);
    advance();
  } while (take(Word::Comma));
  expect(Word::RightBracket, "after the names");
  if (context.may_range && is(Word::Colon)) return;
  if (!is(Word::Equal) && !is(Word::LeftBrace) && !is(Word::LeftParen)) {
    fail_expected("'=' after the names");
  }
  parse_initializer(made, context);
}

// ---- Function or variable? -----------------------------------------------------------------------------------------

bool ParserImpl::is_scoped_value(size_t index) const {
  NameMeaning meaning = names_.find(scope_, word_at(index));
  for (; word_at(index + 1) == Word::Scope; index += 2) {
    if (meaning.members == nullptr || !is_name(word_at(index + 2))) return false;
    meaning = names_.find_in(meaning.members, word_at(index + 2));
  }
  return (meaning.flags & NameMeaning::kValue) != 0;
}

bool ParserImpl::at_parameters() const {
  const size_t first = index_ + 1;
  switch (word_at(first)) {
    case Word::RightParen:
    case Word::Ellipsis:
    case Word::LeftBracket:
      return true;
    case Word::Integer:
    case Word::Float:
    case Word::Character:
    case Word::String:
    case Word::True:
    case Word::False:
    case Word::Nullptr:
    case Word::Sizeof:
    case Word::StaticCast:
      return false;
    default:
      break;
  }
  if (!is_alphabetic(word_at(first))) return word_at(first) == Word::Scope;
  if (begins_parameter(first)) return true;
  if (behind_type(first) != first) return false;  // T(…)
  if (is_scoped_value(first)) return false;       // E::x
  // A name that there is not is more likely the type of a parameter.
  return !is_name(word_at(first)) || (names_.find(scope_, word_at(first)).flags & NameMeaning::kValue) == 0;
}

// ---- Functions: parameters, the specifiers after them, bodies -------------------------------------------------------

bool ParserImpl::parse_function(const Specifiers& specifiers, Declarator declarator, const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Function, declarator.at, context);
  if (specifiers.type == nullptr && !declarator.name.is_function &&
      (context.place != Place::Struct || declarator.name.last != struct_->name)) {
    fail(declarator.at, base::format("expected a type before \"{}\"", declarator.text()));
  }
  made.type = declarator.type;
  set_specifiers(made, specifiers, &declarator);

  NameScope* inside = names_.open(NameScope::Kind::Block, scope_);
  inside->reopened = declarator.name.scope;
  const Word name = declarator.name.last;
  set_name(made, std::move(declarator.name));
  set_headers(made, context);
  const bool is_constructor = context.place == Place::Struct && specifiers.type == nullptr;
  if (!context.is_instantiation && !context.is_friend && !is_constructor) {
    declare_as(made, name, NameMeaning::kValue | NameMeaning::kFunction);
  }
  {
    const Keep<NameScope*> in_scope(scope_, inside);
    parse_parameters(made);
    parse_behind_parameters(made);
  }
  return parse_function_end(made, context, inside);
}

// ---- Parameters ----------------------------------------------------------------------------------------------------

void ParserImpl::parse_parameters(ast::Declaration& function) {
  const Keep<bool> outside(in_template_arguments_, false);
  expect(Word::LeftParen, "before the parameters");
  if (word(1) == Word::RightParen && token().text == "void") advance();
  while (!is(Word::RightParen)) {
    if (is(Word::Ellipsis)) fail("variable arguments (\"...\") are not supported: use a parameter pack");
    function.parameters.push_back(parse_parameter(function));
    if (!take(Word::Comma)) break;
  }
  expect(Word::RightParen, function.name.empty() ? "after the parameters" : "after the parameters of", function.name);
}

const ast::Declaration* ParserImpl::parse_parameter(ast::Declaration& function) {
  ast::Declaration& made = tree_.make_declaration();
  made.parent = parent_;
  Specifiers specifiers = parse_specifiers({Place::Parameter});
  if (specifiers.type->form == ast::TypeForm::Named && specifiers.type->name.last().name == "auto") {
    // A template's parameter without a name: it gets one that no source can contain.
    ast::TemplateParameter& invented = function.template_parameters.emplace_back();
    invented.name = tree_.keep(base::format("auto#{}", ++invented_));
    invented.at = specifiers.type->at;
    function.is_template = true;
    specifiers.type->name.parts.back().name = invented.name;
  }
  Declarator declarator = parse_declarator(specifiers.type, Naming::Optional);
  if (is(Word::LeftParen)) declarator.type = parse_function_type(declarator.type);
  if (declarator.name.name.parts.size() > 1 || declarator.name.is_function) {
    fail(declarator.at, "expected a plain name for the parameter");
  }
  made.at = declarator.at;
  made.type = declarator.type;
  made.is_variadic = declarator.is_pack;
  made.attributes = std::move(specifiers.attributes);
  made.attributes.insert(made.attributes.end(), declarator.attributes.begin(), declarator.attributes.end());
  if (made.is_variadic && function.is_template && !function.template_parameters.empty() &&
      function.template_parameters.back().name == specifiers.type->name.parts.back().name &&
      function.template_parameters.back().name.starts_with("auto#")) {
    function.template_parameters.back().is_pack = true;  // auto... args
  }
  if (declarator.has_name()) {
    if (declarator.name.meaning.is_builtin() && declarator.name.meaning.is_type()) {
      fail(declarator.at, base::format("\"{}\" is a type: nothing else can be called so", declarator.text()));
    }
    made.name = declarator.text();
    const uint8_t flags = NameMeaning::kValue | (made.is_variadic ? NameMeaning::kPack : 0);
    names_.declare(scope_, declarator.name.last, flags);
  }
  if (take(Word::Equal)) made.initializer = parse_initializer_clause();
  return &made;
}

void ParserImpl::parse_behind_parameters(ast::Declaration& function) {
  for (;;) {
    if (parse_qualifier(function.is_const, function.this_space)) continue;
    if (at_attributes() || is(Word::Attribute)) {
      parse_attributes(function.attributes);
    } else if (take(Word::Noexcept)) {
      if (is(Word::LeftParen)) index_ = behind_group(index_);
    } else if (is(Word::Override) || is(Word::Final)) {
      refuse(base::format("virtual functions (\"{}\") are", token().text));
    } else if (is(Word::Requires)) {
      fail_at_word();
    } else if (take(Word::Arrow)) {
      function.type = parse_type();
    } else if (!take(Word::Amp) && !take(Word::AmpAmp)) {
      return;
    }
  }
}

// ---- Bodies --------------------------------------------------------------------------------------------------------

// True: the declaration ends there.
bool ParserImpl::parse_function_end(ast::Declaration& function, const Context& context, NameScope* scope) {
  if (take(Word::Equal)) {
    if (take(Word::Default)) {
      function.is_defaulted = true;
    } else if (take(Word::Delete)) {
      function.is_deleted = true;
    } else if (is(Word::Integer)) {
      refuse("virtual functions (\"= 0\") are");
    } else {
      fail_expected("\"default\" or \"delete\" after '='");
    }
    expect_semicolon("the declaration of", function.name);
    return true;
  }
  if (is(Word::Try)) fail_at_word();
  if (!is(Word::LeftBrace) && !is(Word::Colon)) return false;
  if (context.is_instantiation) fail("an explicit instantiation has no body: expected ';'");
  function.is_definition = true;
  if (delayed_ != nullptr) {
    delayed_->push_back({&function, index_, scope, parent_, context.is_friend ? friend_of_ : nullptr});
    skip_body();
  } else {
    const Keep<NameScope*> in_scope(scope_, scope);
    parse_body(function);
  }
  return true;
}

void ParserImpl::parse_body(ast::Declaration& function) {
  const Keep<bool> outside(in_template_arguments_, false);
  const Keep<StructContext*> in_struct(struct_, nullptr);
  const Keep<std::vector<Delayed>*> in_delayed(delayed_, nullptr);
  if (is(Word::Colon)) parse_member_initializers(function);
  if (!is(Word::LeftBrace)) expect(Word::LeftBrace, "before the body of", function.name);
  function.body = parse_block();
}

void ParserImpl::parse_member_initializers(ast::Declaration& function) {
  advance();
  do {
    ast::Declaration::MemberInitializer& made = function.member_initializers.emplace_back();
    made.at = at();
    made.name = parse_head(true).name;
    if (is(Word::LeftBrace)) {
      made.arguments.push_back(parse_braces(nullptr));
    } else {
      expect(Word::LeftParen, "after the name of the member");
      parse_arguments(made.arguments, Word::RightParen, "after the member's value");
    }
    made.is_expansion = take(Word::Ellipsis);
  } while (take(Word::Comma));
}

// Member initializers may have braces too: the body begins with the brace that has no name before it.
void ParserImpl::skip_body() {
  if (is(Word::Colon)) {
    advance();
    while (!is(Word::End) && !is(Word::Semicolon)) {
      if (is(Word::LeftParen) || is(Word::LeftBracket)) {
        index_ = behind_group(index_);
      } else if (is(Word::LeftBrace)) {
        const Word before = word_at(index_ - 1);
        if (!is_name(before) && before != Word::Greater) break;
        index_ = behind_group(index_);
      } else {
        advance();
      }
    }
  }
  if (is(Word::LeftBrace)) index_ = behind_group(index_);
}

void ParserImpl::parse_delayed(std::vector<Delayed>& delayed) {
  const Keep<size_t> back_to(index_, index_);
  for (Delayed& each : delayed) {
    if (diagnostics_.is_full()) return;
    const Keep<NameScope*> in_scope(scope_, each.scope);
    const Keep<const ast::Declaration*> in_parent(parent_, each.parent);
    const Keep<const StructContext*> as_friend(friend_of_, each.friend_of);
    index_ = each.begin;
    pending_ = Head();
    try {
      parse_body(*each.function);
    } catch (const Rejected& rejected) {
      each.function->is_definition = false;
      report(rejected);
    }
  }
  pending_ = Head();
}

// ---- Friends -------------------------------------------------------------------------------------------------------

void ParserImpl::parse_friend(const Context& context) {
  advance();
  const Keep<const StructContext*> as_friend(friend_of_, struct_);
  const Keep<const ast::Declaration*> in_parent(parent_, namespace_);
  const Keep<StructContext*> in_struct(struct_, nullptr);
  const bool is_type = is(Word::Struct) || is(Word::Class) || is(Word::Union) || is(Word::Enum);
  if (is_type || (at_head() && word_at(peek_head(true).end) == Word::Semicolon)) {
    while (!is(Word::Semicolon) && !is(Word::RightBrace) && !is(Word::End)) advance();
    return expect_semicolon("the friend");
  }
  Context inside{Place::Namespace, namespace_members_, context.headers};
  inside.is_friend = true;
  parse_simple_declaration(inside);
}

}  // namespace kymo::shader
