// template <…>, and explicit instantiations.

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

void ParserImpl::parse_template(const Context& context) {
  if (word(1) != Word::Less) return parse_instantiation(context);
  if (context.place == Place::Block)
    fail("a template cannot be declared inside a function: use a lambda with auto parameters");
  const Keep<NameScope*> back_to(scope_, scope_);
  std::vector<Header> headers;
  while (is(Word::Template)) {
    advance();
    headers.push_back(parse_header());
  }
  if (is(Word::Requires)) fail_at_word();
  Context inside = context;
  inside.headers = &headers;
  parse_declaration(inside);
}

// Opens a scope for the parameters, which the caller closes.
ParserImpl::Header ParserImpl::parse_header() {
  const Nesting nesting(*this);
  Header header;
  header.at = at();
  scope_ = names_.open(NameScope::Kind::Template, scope_);
  const Keep<bool> inside(in_template_arguments_, true);
  expect(Word::Less, "after \"template\"");
  while (!is(Word::Greater)) {
    header.parameters.push_back(parse_template_parameter());
    if (!take(Word::Comma)) break;
  }
  expect(Word::Greater, "after the template's parameters");
  return header;
}

ast::TemplateParameter ParserImpl::parse_template_parameter() {
  ast::TemplateParameter parameter;
  parameter.at = at();
  if (is(Word::Template)) {
    advance();
    const Keep<NameScope*> back_to(scope_, scope_);
    parse_header();
    parameter.is_template = true;
    if (!is(Word::Class) && !is(Word::Typename)) {
      fail(base::format("expected \"class\" or \"typename\" after the parameters of a template's template, found {}",
                        found()));
    }
  }
  const bool is_value =  // typename T::type N, typename S<T>::type = 0
      is(Word::Typename) && is_name(word(1)) && (word(2) == Word::Scope || word(2) == Word::Less);
  if ((is(Word::Class) || is(Word::Typename)) && !is_value) {
    parse_type_parameter(parameter);
  } else {
    parse_value_parameter(parameter);
  }
  return parameter;
}

void ParserImpl::parse_type_parameter(ast::TemplateParameter& parameter) {
  advance();
  parameter.is_pack = take(Word::Ellipsis);
  const Word name = word();
  if (is_name(name)) {
    parameter.name = token().text;
    parameter.at = at();
    advance();
  }
  if (take(Word::Equal)) parameter.fallback.type = parse_type();
  if (is_name(name)) {
    names_.declare(scope_, name,
                   static_cast<uint8_t>(NameMeaning::kType | (parameter.is_template ? NameMeaning::kTemplate : 0) |
                                        (parameter.is_pack ? NameMeaning::kPack : 0)));
  }
}

void ParserImpl::parse_value_parameter(ast::TemplateParameter& parameter) {
  parameter.is_type = false;
  const Specifiers specifiers = parse_specifiers({Place::Parameter});
  Declarator declarator = parse_declarator(specifiers.type, Naming::Optional);
  parameter.type = declarator.type;
  parameter.is_pack = declarator.is_pack;
  if (declarator.has_name()) {
    parameter.name = declarator.text();
    parameter.at = declarator.at;
  }
  if (take(Word::Equal)) parameter.fallback.value = parse_conditional();
  if (declarator.name.last != Word::End) {
    names_.declare(scope_, declarator.name.last,
                   static_cast<uint8_t>(NameMeaning::kValue | (parameter.is_pack ? NameMeaning::kPack : 0)));
  }
}

// template [[host_name("x")]] kernel void f<float>(…);  template struct S<float>;
void ParserImpl::parse_instantiation(const Context& context) {
  if (context.place != Place::Namespace) fail("an explicit instantiation must be in a namespace");
  const Location where = at();
  advance();
  Declarations inner;
  Context inside{Place::Namespace, &inner};
  inside.is_instantiation = true;
  parse_simple_declaration(inside);
  if (inner.size() != 1) fail(where, "expected one declaration after \"template\"");
  ast::Declaration& made = add(ast::DeclarationKind::ExplicitInstantiation, inner[0]->at, context);
  made.inner = inner[0];
  made.name = inner[0]->name;
  made.attributes = inner[0]->attributes;
  made.is_kernel = inner[0]->is_kernel;
  made.other_stage = inner[0]->other_stage;
}

}  // namespace kymo::shader
