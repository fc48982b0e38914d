
#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

ast::Expression* ParserImpl::parse_lambda() {
  const Nesting nesting(*this);
  const Keep<bool> outside(in_template_arguments_, false);
  ast::Expression& made = make_expression(ast::ExpressionKind::Lambda, at());
  ast::Lambda& lambda = tree_.make_lambda();
  ast::Declaration& function = tree_.make_declaration();
  made.lambda = &lambda;
  lambda.function = &function;
  function.kind = ast::DeclarationKind::Function;
  function.at = at();
  function.parent = parent_;
  function.is_definition = true;
  function.type = make_named_type("auto", at());

  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  parse_captures(lambda);
  if (is(Word::Less)) {
    function.is_template = true;
    function.template_parameters = parse_header().parameters;
    scope_ = names_.open(NameScope::Kind::Block, scope_);
  }
  if (is(Word::LeftParen)) parse_parameters(function);
  for (;;) {
    if (take(Word::Mutable)) {
      lambda.is_mutable = true;
    } else if (!take(Word::Constexpr)) {
      break;
    }
  }
  parse_behind_parameters(function);
  if (!is(Word::LeftBrace)) fail(base::format("expected the body of the lambda, found {}", found()));
  parse_body(function);
  return finish(made);
}

void ParserImpl::parse_captures(ast::Lambda& lambda) {
  expect(Word::LeftBracket, "before the captures");
  while (!is(Word::RightBracket)) {
    const bool is_whole = word(1) == Word::RightBracket || word(1) == Word::Comma;
    if (is(Word::Equal) || (is(Word::Amp) && is_whole)) {
      lambda.capture_default = is(Word::Equal) ? ast::CaptureDefault::Copy : ast::CaptureDefault::Reference;
      advance();
    } else {
      ast::Capture capture;
      const bool is_copied_this = is(Word::Star) && word(1) == Word::This;
      capture.by_reference = take(Word::Amp) || is(Word::This);
      if (is_copied_this) advance();
      capture.is_expansion = take(Word::Ellipsis);
      capture.at = at();
      if (!is_name(word()) && !is(Word::This)) fail(base::format("expected the name of a capture, found {}", found()));
      capture.name = token().text;
      const Word name = word();
      advance();
      if (take(Word::Equal)) {
        capture.value = parse_initializer_clause();
        names_.declare(scope_, name, NameMeaning::kValue);
      }
      capture.is_expansion |= take(Word::Ellipsis);
      lambda.captures.push_back(capture);
    }
    if (!take(Word::Comma)) break;
  }
  expect(Word::RightBracket, "after the captures");
}

}  // namespace kymo::shader
