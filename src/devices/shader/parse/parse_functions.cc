// Functions: parameters, the specifiers after them, bodies.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

bool ParserImpl::parse_function(const Specifiers& specifiers, Declarator declarator, const Context& context) {
  ast::Declaration& made = add(ast::DeclarationKind::Function, declarator.at, context);
  if (specifiers.type == nullptr && !declarator.name.is_function &&
      (context.place != Place::Struct || declarator.name.last != struct_->name)) {
    fail(declarator.at, base::format("expected a type before \"{}\"", declarator.text()));
  }
  made.type = declarator.type;
  made.is_static = specifiers.is_static;
  made.is_inline = specifiers.is_inline;
  made.is_constexpr = specifiers.is_constexpr;
  made.is_explicit = specifiers.is_explicit;
  made.is_kernel = specifiers.is_kernel;
  made.other_stage = specifiers.other_stage;
  made.attributes = specifiers.attributes;
  made.attributes.insert(made.attributes.end(), declarator.attributes.begin(), declarator.attributes.end());

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
      fail(base::format("expected \"default\" or \"delete\" after '=', found {}", found()));
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
