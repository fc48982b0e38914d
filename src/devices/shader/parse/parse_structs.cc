// Structs, classes, unions, enums.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

// The name of a struct or an enum, and what is around it. Null: it is not declared here, but used as a type.
ast::Declaration* ParserImpl::begin_struct(ast::DeclarationKind kind, const Location& where, Head& head,
                                           Specifiers& specifiers, const Context& context) {
  const std::string_view what = kind == ast::DeclarationKind::Struct ? "a struct" : "an enum";
  std::vector<ast::Attribute> attributes;
  parse_attributes(attributes);
  head.at = where;
  if (is_name(word()) || is(Word::Scope)) head = parse_head(true);
  if (is(Word::Final) && (word(1) == Word::LeftBrace || word(1) == Word::Colon)) advance();
  const bool may_declare = context.place != Place::Parameter && context.out != nullptr;
  const bool defines = is(Word::LeftBrace) || (is(Word::Colon) && !context.may_range);
  if (!defines && head.name.parts.empty()) fail_expected(base::format("the name of {}", what));
  if (!defines && !(may_declare && context.place != Place::TypeOnly && is(Word::Semicolon))) {  // struct S x;
    specifiers.members = head.meaning.members;
    specifiers.type = make_type(std::move(head));
    return nullptr;
  }
  if (!may_declare) fail(base::format("{} cannot be defined here: define it before this", what));
  ast::Declaration& made = add(kind, head.at, context);
  made.attributes = std::move(attributes);
  return &made;
}

void ParserImpl::parse_struct(Specifiers& specifiers, const Context& context) {
  const bool is_union = is(Word::Union), is_class = is(Word::Class);
  const Location where = at();
  advance();
  Head head;
  ast::Declaration* const begun = begin_struct(ast::DeclarationKind::Struct, where, head, specifiers, context);
  if (begun == nullptr) return;
  ast::Declaration& made = *begun;
  made.is_union = is_union;
  const bool has_name = !head.name.parts.empty(), defines = !is(Word::Semicolon);
  const Word name = head.last;
  const NameMeaning meaning = head.meaning;
  NameScope* const outer = head.scope;
  specifiers.type = make_type(head);
  specifiers.defines = true;
  set_name(made, std::move(head));
  set_headers(made, context);

  NameScope* scope = nullptr;
  const bool is_specialised = has_name && !made.qualified.parts.empty() && made.qualified.last().has_arguments;
  if (!is_specialised && has_name) {
    scope = outer != nullptr ? meaning.members : names_.own(home(), name).members;
    if (scope != nullptr && scope->kind != NameScope::Kind::Struct) scope = nullptr;
  }
  if (scope == nullptr) scope = names_.open(NameScope::Kind::Struct, scope_);
  scope->parent = scope_;
  scope->reopened = outer;
  if (is_specialised) scope->primary = meaning.members;
  if (has_name && !context.is_instantiation) declare_as(made, name, NameMeaning::kType, scope);
  specifiers.members = scope;
  if (!defines) return;

  made.is_definition = true;
  StructContext& self = structs_.emplace_back();
  self.declaration = &made;
  self.scope = scope;
  self.name = name;
  self.access = is_class ? ast::Access::Private : ast::Access::Public;
  self.outer = struct_;
  parse_struct_body(self);
  parse_attributes(made.attributes);
  if (!has_name) name_unnamed(made, specifiers, context, scope);
}

void ParserImpl::parse_struct_body(StructContext& self) {
  const Nesting nesting(*this);
  const Keep<bool> outside(in_template_arguments_, false);
  ast::Declaration& made = *self.declaration;
  std::vector<Delayed> delayed;
  const bool is_outermost = delayed_ == nullptr;
  {
    const Keep<NameScope*> in_scope(scope_, self.scope);
    const Keep<const ast::Declaration*> in_parent(parent_, &made);
    const Keep<StructContext*> in_struct(struct_, &self);
    const Keep<std::vector<Delayed>*> in_delayed(delayed_, is_outermost ? &delayed : delayed_);
    if (is(Word::Colon)) parse_bases(made, self.scope);
    expect(Word::LeftBrace, "after struct", made.name);
    parse_members(self);
    expect(Word::RightBrace, "after the members of", made.name);
  }
  if (is_outermost) {
    const Keep<StructContext*> in_struct(struct_, nullptr);
    parse_delayed(delayed);
  }
}

void ParserImpl::parse_members(StructContext& self) {
  const Context context{Place::Struct, &self.declaration->members};
  while (!is(Word::RightBrace) && !is(Word::End) && !diagnostics_.is_full()) {
    const bool is_label = is(Word::Public) || is(Word::Private) || is(Word::Protected);
    if (!is_label) {
      parse_or_recover(context);
      continue;
    }
    self.access = is(Word::Public)    ? ast::Access::Public
                  : is(Word::Private) ? ast::Access::Private
                                      : ast::Access::Protected;
    advance();
    expect(Word::Colon, "after the access");
  }
}

void ParserImpl::parse_bases(ast::Declaration& made, NameScope* scope) {
  advance();
  do {
    while (is(Word::Public) || is(Word::Private) || is(Word::Protected)) advance();
    if (is(Word::Virtual)) fail_at_word();
    if (!at_head()) fail_expected("the name of a base");
    Head head = parse_head(true);
    names_.follow(scope, head.meaning.members);
    ast::TypeName* base = make_type(std::move(head));
    base->is_expansion = take(Word::Ellipsis);
    made.bases.push_back(base);
  } while (take(Word::Comma));
}

// A struct without a name that is the type of a declaration gets a name that no source can contain.
void ParserImpl::name_unnamed(ast::Declaration& made, const Specifiers& specifiers, const Context& context,
                              NameScope* scope) {
  if (is(Word::Semicolon) && context.place != Place::TypeOnly) {  // its members are members of the outer scope
    names_.follow(home(), scope);
    if (context.place != Place::Struct || made.kind == ast::DeclarationKind::Enum) return;
    made.name = tree_.keep(base::format("struct#{}", ++invented_));
    ast::Declaration& field = add(ast::DeclarationKind::Variable, made.at, context);
    field.name = tree_.keep(base::format("#{}", invented_));
    field.type = make_named_type(made.name, made.at);
    return;
  }
  if (specifiers.is_typedef && is_name(word())) {
    made.name = token().text;
  } else {
    made.name =
        tree_.keep(base::format("{}#{}", made.kind == ast::DeclarationKind::Enum ? "enum" : "struct", ++invented_));
  }
  specifiers.type->name.parts.push_back(plain_part(made.name, made.at));
}

// ---- Enums ---------------------------------------------------------------------------------------------------------

void ParserImpl::parse_enum(Specifiers& specifiers, const Context& context) {
  const Location where = at();
  advance();
  const bool is_scoped = take(Word::Class) || take(Word::Struct);
  Head head;
  ast::Declaration* const begun = begin_struct(ast::DeclarationKind::Enum, where, head, specifiers, context);
  if (begun == nullptr) return;
  if (context.headers != nullptr) fail("an enum cannot be a template");
  ast::Declaration& made = *begun;
  made.is_scoped = is_scoped;
  const bool has_name = !head.name.parts.empty();
  const Word name = head.last;
  specifiers.type = make_type(head);
  specifiers.defines = true;
  set_name(made, std::move(head));
  NameScope* scope = has_name ? names_.own(home(), name).members : nullptr;
  if (scope == nullptr || scope->kind != NameScope::Kind::Struct) scope = names_.open(NameScope::Kind::Struct, scope_);
  if (has_name) declare_as(made, name, NameMeaning::kType, scope);
  specifiers.members = scope;
  if (take(Word::Colon)) made.type = parse_type();
  if (!is(Word::LeftBrace) && !has_name) fail_expected("the enumerators of the enum");
  if (!is(Word::LeftBrace)) return;
  made.is_definition = true;
  parse_enumerators(made, scope);
  parse_attributes(made.attributes);
  if (!has_name) name_unnamed(made, specifiers, context, scope);
}

void ParserImpl::parse_enumerators(ast::Declaration& made, NameScope* scope) {
  NameScope* const outside = home();
  const Keep<NameScope*> in_scope(scope_, scope);
  advance();
  while (!is(Word::RightBrace)) {
    if (!is_name(word())) fail_expected("the name of an enumerator");
    ast::Enumerator enumerator{.name = token().text, .at = at()};
    const Word name = word();
    advance();
    std::vector<ast::Attribute> dropped;
    parse_attributes(dropped);
    if (take(Word::Equal)) enumerator.value = parse_conditional();
    names_.declare(scope, name, NameMeaning::kValue);
    if (!made.is_scoped) names_.declare(outside, name, NameMeaning::kValue);
    made.enumerators.push_back(enumerator);
    if (!take(Word::Comma)) break;
  }
  expect(Word::RightBrace, "after the enumerators of", made.name);
}

}  // namespace kymo::shader
