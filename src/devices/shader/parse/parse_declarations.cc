// Namespaces, using, and the common parts of all declarations.

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
      if (is_templated)
        fail(base::format("expected a function, a struct, an alias or a variable after \"template <...>\", found {}",
                          found()));
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
      if (at_deduction_guide(context)) return parse_deduction_guide(context);
      return parse_simple_declaration(context);
  }
}

bool ParserImpl::at_deduction_guide(const Context& context) const {
  return context.place == Place::Namespace && is_name(word()) && word(1) == Word::LeftParen &&
         word_at(behind_group(index_ + 1)) == Word::Arrow;
}

// S(T, T) -> S<T>;
void ParserImpl::parse_deduction_guide(const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Function, at(), context);
  made.is_guide = true;
  made.name = token().text;
  advance();
  set_headers(made, context);
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  parse_parameters(made);
  expect(Word::Arrow, "after the parameters of", made.name);
  made.type = parse_type();
  expect_semicolon("the deduction guide of", made.name);
}

void ParserImpl::parse_simple_declaration(const Context& context) {
  const Specifiers specifiers = parse_specifiers(context);
  if (specifiers.defines && (is(Word::Semicolon) || at_forgotten_semicolon())) {
    const auto& parts = specifiers.type->name.parts;
    if (parts.empty()) return expect_semicolon("the declaration");
    return expect_semicolon("the declaration of", parts.back().name);
  }
  if (specifiers.type == nullptr && !is(Word::Operator) && !is(Word::Tilde) && !is_name(word()) && !is(Word::Scope)) {
    fail(base::format("expected a declaration, found {}", found()));
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
    if (specifiers.type != nullptr && context.place == Place::Struct && is(Word::Colon)) {
      parse_unnamed_bits(specifiers, context);
      continue;
    }
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
    if (!is_name(word())) fail(base::format("expected the name of a namespace, found {}", found()));
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
    if (!is(Word::String))
      fail(base::format("expected a text as the second argument of static_assert, found {}", found()));
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

}  // namespace kymo::shader
