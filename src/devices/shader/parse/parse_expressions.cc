// Expressions: operators by precedence, primary expressions, lambdas.

#include <algorithm>

#include "base/text.h"
#include "shader/parse/parser_impl.h"
#include "shader/preprocess/literals.h"

namespace kymo::shader {

ast::Expression& ParserImpl::make_expression(ast::ExpressionKind kind, const Location& at) {
  ast::Expression& made = tree_.make_expression();
  made.kind = kind;
  made.at = at;
  return made;
}

ast::Expression* ParserImpl::finish(ast::Expression& expression) {
  uint32_t below = 0;
  for (const ast::Expression* operand : expression.operands) below = std::max(below, operand->height);
  expression.height = below + 1;
  if (expression.height > kMaxHeight) {
    fail(expression.at, base::format("this expression is more than {} operations deep: split it", kMaxHeight));
  }
  tallest_ = std::max(tallest_, expression.height);
  return &expression;
}

// ---- Comma, assignment, ?: -----------------------------------------------------------------------------------------

ast::Expression* ParserImpl::parse_expression() {
  ast::Expression* left = parse_assignment();
  while (is(Word::Comma) && word(1) != Word::Ellipsis) {
    ast::Expression& made = make_expression(ExpressionKind::Binary, at());
    made.op = spelling(Word::Comma);
    advance();
    made.operands = {left, parse_assignment()};
    left = finish(made);
  }
  return left;
}

ast::Expression* ParserImpl::parse_initializer_clause() {
  return is(Word::LeftBrace) ? parse_braces(nullptr) : parse_assignment();
}

ast::Expression* ParserImpl::parse_assignment() {
  const Nesting nesting(*this);
  ast::Expression* left = parse_conditional();
  if (word() < Word::Equal || word() > Word::ShiftRightEqual) return left;
  if (in_template_arguments_ && is(Word::ShiftRightEqual)) return left;
  ast::Expression& made = make_expression(ExpressionKind::Assign, at());
  made.op = spelling(word());
  advance();
  made.operands = {left, parse_initializer_clause()};
  return finish(made);
}

ast::Expression* ParserImpl::parse_conditional() {
  ast::Expression* condition = parse_binary(1);
  if (!is(Word::Question)) return condition;
  ast::Expression& made = make_expression(ExpressionKind::Conditional, at());
  advance();
  const ast::Expression* if_true = parse_expression();
  expect(Word::Colon, "between the values of \"?\"");
  made.operands = {condition, if_true, parse_assignment()};
  return finish(made);
}

// ---- Binary operators ----------------------------------------------------------------------------------------------

int ParserImpl::binary_precedence() const {
  switch (word()) {
    case Word::PipePipe:
      return 1;
    case Word::AmpAmp:
      return 2;
    case Word::Pipe:
      return 3;
    case Word::Caret:
      return 4;
    case Word::Amp:
      return 5;
    case Word::EqualEqual:
    case Word::NotEqual:
      return 6;
    case Word::Less:
    case Word::LessEqual:
    case Word::GreaterEqual:
      return 7;
    case Word::Greater:
      if (in_template_arguments_) return 0;
      return at_shift_right() ? 8 : 7;
    case Word::ShiftLeft:
      return 8;
    case Word::Plus:
    case Word::Minus:
      return 9;
    case Word::Star:
    case Word::Slash:
    case Word::Percent:
      return 10;
    default:
      return 0;
  }
}

ast::Expression* ParserImpl::parse_binary(int least) {
  ast::Expression* left = parse_cast();
  for (;;) {
    const int precedence = binary_precedence();
    if (precedence < least) return left;
    const bool is_shift = at_shift_right();
    const size_t width = is_shift ? 2 : 1;
    if (word(width) == Word::Ellipsis) return left;  // a fold
    ast::Expression& made = make_expression(ExpressionKind::Binary, at());
    made.op = is_shift ? std::string_view(">>") : spelling(word());
    index_ += width;
    made.operands = {left, parse_binary(precedence + 1)};
    left = finish(made);
  }
}

// ---- Casts and unary operators -------------------------------------------------------------------------------------

bool ParserImpl::at_cast() {
  const Keep<size_t> back_to(index_, index_);
  const Keep<bool> outside(in_template_arguments_, false);
  advance();
  if (at_type()) return true;
  if (!at_head()) return false;
  // (Missing)x can only be meant as a cast.
  const Head& head = peek_head(false);
  if (head.meaning.known() || head.is_function || word_at(head.end) != Word::RightParen) return false;
  const Word behind = word_at(head.end + 1);
  return is_name(behind) || (behind >= Word::Integer && behind <= Word::String) || behind == Word::This;
}

ast::Expression* ParserImpl::parse_cast() {
  if (!is(Word::LeftParen) || !at_cast()) return parse_unary();
  const Nesting nesting(*this);
  ast::Expression& made = make_expression(ExpressionKind::Cast, at());
  {
    const Keep<bool> outside(in_template_arguments_, false);
    advance();
    made.type = parse_type();
    expect(Word::RightParen, "after the type of the cast");
  }
  if (is(Word::LeftBrace)) return parse_braces(made.type);
  made.operands = {parse_cast()};
  return finish(made);
}

ast::Expression* ParserImpl::parse_unary() {
  switch (word()) {
    case Word::Plus:
    case Word::Minus:
    case Word::Not:
    case Word::Tilde:
    case Word::Star:
    case Word::Amp:
    case Word::PlusPlus:
    case Word::MinusMinus: {
      const Nesting nesting(*this);
      ast::Expression& made = make_expression(ExpressionKind::Unary, at());
      made.op = spelling(word());
      advance();
      made.operands = {parse_cast()};
      return finish(made);
    }
    case Word::Sizeof:
    case Word::Alignof:
      return parse_sizeof();
    default:
      return parse_postfix();
  }
}

ast::Expression* ParserImpl::parse_sizeof() {
  const Nesting nesting(*this);
  ast::Expression& made = make_expression(ExpressionKind::SizeofValue, at());
  const bool is_alignof = is(Word::Alignof);
  if (is_alignof) made.text = spelling(Word::Alignof);
  advance();
  if (!is_alignof && take(Word::Ellipsis)) {
    made.kind = ExpressionKind::SizeofPack;
    expect(Word::LeftParen, "after \"sizeof...\"");
    made.name = parse_head(false).name;
    expect(Word::RightParen, "after the name of the pack");
    return finish(made);
  }
  if (is(Word::LeftParen)) {
    const Keep<bool> outside(in_template_arguments_, false);
    bool is_type = false;
    {
      const Keep<size_t> back_to(index_, index_ + 1);
      is_type = at_type();
    }
    if (is_type) {
      advance();
      made.kind = ExpressionKind::SizeofType;
      made.type = parse_type();
      expect(Word::RightParen, "after the type");
      return finish(made);
    }
  }
  made.operands = {parse_unary()};
  return finish(made);
}

ast::Expression* ParserImpl::parse_postfix() {
  ast::Expression* left = parse_primary();
  for (;;) {
    switch (word()) {
      case Word::LeftParen: {
        ast::Expression& made = make_expression(ExpressionKind::Call, left->at);
        advance();
        made.operands.push_back(left);
        parse_arguments(made.operands, Word::RightParen, "after the arguments");
        left = finish(made);
        break;
      }
      case Word::LeftBracket: {
        if (at_attributes()) return left;
        const Keep<bool> outside(in_template_arguments_, false);
        ast::Expression& made = make_expression(ExpressionKind::Index, at());
        advance();
        made.operands = {left, parse_expression()};
        expect(Word::RightBracket, "after the index");
        left = finish(made);
        break;
      }
      case Word::Dot:
      case Word::Arrow: {
        ast::Expression& made = make_expression(ExpressionKind::Member, at());
        made.flag = is(Word::Arrow);
        advance();
        made.at = at();
        made.name = parse_member_name();
        made.operands = {left};
        left = finish(made);
        break;
      }
      case Word::PlusPlus:
      case Word::MinusMinus: {
        ast::Expression& made = make_expression(ExpressionKind::Postfix, at());
        made.op = spelling(word());
        advance();
        made.operands = {left};
        left = finish(made);
        break;
      }
      default:
        return left;
    }
  }
}

// ---- Primary expressions --------------------------------------------------------------------------------------------

// Primary expressions: literals, names, parentheses, constructions, named casts, folds.

// Everything that is parsed in the meantime, also in types, arguments and bodies, is below the result.
ast::Expression* ParserImpl::parse_primary() {
  const uint32_t around = std::exchange(tallest_, 0);
  ast::Expression* made = parse_plain_primary();
  made->height = std::max(made->height, tallest_);
  tallest_ = std::max(around, made->height);
  return made;
}

ast::Expression* ParserImpl::parse_plain_primary() {
  switch (word()) {
    case Word::Integer:
    case Word::Float:
    case Word::Character: {
      const ExpressionKind kind = is(Word::Integer) ? ExpressionKind::Integer
                                  : is(Word::Float) ? ExpressionKind::Float
                                                    : ExpressionKind::Character;
      ast::Expression& made = make_expression(kind, at());
      made.text = token().text;
      advance();
      return finish(made);
    }
    case Word::String:
      return parse_string();
    case Word::True:
    case Word::False: {
      ast::Expression& made = make_expression(ExpressionKind::Bool, at());
      made.flag = is(Word::True);
      advance();
      return finish(made);
    }
    case Word::Nullptr: {
      ast::Expression& made = make_expression(ExpressionKind::Nullptr, at());
      advance();
      return finish(made);
    }
    case Word::This: {
      ast::Expression& made = make_expression(ExpressionKind::Name, at());
      made.name.parts.push_back(plain_part(token().text, at()));
      advance();
      return finish(made);
    }
    case Word::LeftParen:
      return parse_parenthesis();
    case Word::LeftBracket:
      return parse_lambda();
    case Word::StaticCast:
    case Word::ReinterpretCast:
    case Word::ConstCast:
      return parse_named_cast();
    default:
      if (at_head() || is(Word::Operator)) return parse_named();
      fail_at_word();
  }
}

ast::Expression* ParserImpl::parse_string() {
  ast::Expression& made = make_expression(ExpressionKind::String, at());
  std::string joined;
  bool is_joined = false;
  for (; is(Word::String); advance()) {
    std::string_view content = token().text;
    if (content.size() < 2 || content.front() != '"') refuse(base::format("the prefix of the text {} is", found()));
    content = content.substr(1, content.size() - 2);
    if (!is_joined && word(1) != Word::String && content.find('\\') == std::string_view::npos) {
      made.text = content;
      continue;
    }
    is_joined = true;
    if (!append_unescaped(content, joined)) {
      fail(base::format("the text {} has an unknown escape", found()));
    }
  }
  if (is_joined) made.text = tree_.keep(std::move(joined));
  return finish(made);
}

// ---- Names, constructions ------------------------------------------------------------------------------------------

ast::Expression* ParserImpl::parse_named() {
  if (is(Word::AsType) && word(1) == Word::Less) return parse_named_cast();
  if (at_type_trait()) return parse_type_trait();
  if (is_name(word()) && word(1) == Word::LeftParen) {
    if (token().text == "offsetof" || token().text == "__builtin_offsetof") return parse_offset();
    if (token().text == "__builtin_bit_cast") return parse_bit_cast();
  }
  Head head = take_head(false);
  if (head.is_type) return parse_construction(make_type(std::move(head)));
  if (head.last == Word::AsType && head.name.last().arguments.size() == 1 && is(Word::LeftParen)) {  // metal::as_type
    ast::Expression& made = make_expression(ExpressionKind::Cast, head.at);
    made.text = spelling(Word::AsType);
    made.type = head.name.last().arguments[0].type;
    advance();
    parse_arguments(made.operands, Word::RightParen, "after the value of the cast");
    if (made.type == nullptr) fail(head.at, "as_type needs a type between '<' and '>'");
    return finish(made);
  }
  if (is(Word::LeftBrace) && !head.meaning.known()) return parse_braces(make_type(std::move(head)));  // Missing{…}
  ast::Expression& made = make_expression(ExpressionKind::Name, head.at);
  made.name = std::move(head.name);
  return finish(made);
}

bool ParserImpl::at_type_trait() const {
  return word(1) == Word::LeftParen && is_name(word()) && token().text.starts_with("__") &&
         (token().text.starts_with("__is_") || token().text.starts_with("__has_"));
}

// The compiler's own questions about types, which headers build their traits on.
ast::Expression* ParserImpl::parse_type_trait() {
  const Nesting nesting(*this);
  const Keep<bool> outside(in_template_arguments_, false);
  ast::Expression& made = make_expression(ExpressionKind::TypeTrait, at());
  ast::NamePart& part = made.name.parts.emplace_back(plain_part(token().text, at()));
  index_ += 2;
  do {
    ast::TemplateArgument& type = part.arguments.emplace_back();
    type.type = parse_type();
    type.is_expansion = take(Word::Ellipsis);
  } while (take(Word::Comma));
  expect(Word::RightParen, "after the types of", part.name);
  return finish(made);
}

// offsetof(S, a.b)
ast::Expression* ParserImpl::parse_offset() {
  const Nesting nesting(*this);
  const Keep<bool> outside(in_template_arguments_, false);
  ast::Expression& made = make_expression(ExpressionKind::SizeofType, at());
  made.text = "offsetof";
  index_ += 2;
  made.type = parse_type();
  expect(Word::Comma, "after the type of offsetof");
  do {
    if (!is_name(word())) fail_expected("a member after the type of offsetof");
    made.name.parts.push_back(plain_part(token().text, at()));
    advance();
  } while (take(Word::Dot));
  expect(Word::RightParen, "after the member of offsetof");
  return finish(made);
}

// __builtin_bit_cast(T, value) is as_type<T>(value).
ast::Expression* ParserImpl::parse_bit_cast() {
  const Nesting nesting(*this);
  const Keep<bool> outside(in_template_arguments_, false);
  ast::Expression& made = make_expression(ExpressionKind::Cast, at());
  made.text = "as_type";
  index_ += 2;
  made.type = parse_type();
  expect(Word::Comma, "after the type of __builtin_bit_cast");
  made.operands = {parse_assignment()};
  expect(Word::RightParen, "after the value of __builtin_bit_cast");
  return finish(made);
}

ast::Expression* ParserImpl::parse_construction(const ast::TypeName* type) {
  if (is(Word::LeftBrace)) return parse_braces(type);
  if (!is(Word::LeftParen)) {
    const std::string_view name = type->name.parts.empty() ? std::string_view("this") : type->name.last().name;
    fail(type->at, base::format("\"{}\" is a type, and a value was expected: found {} after it", name, found()));
  }
  ast::Expression& made = make_expression(ExpressionKind::Cast, type->at);
  made.type = type;
  advance();
  parse_arguments(made.operands, Word::RightParen, "after the arguments");
  return finish(made);
}

ast::Expression* ParserImpl::parse_named_cast() {
  ast::Expression& made = make_expression(ExpressionKind::Cast, at());
  made.text = token().text;
  advance();
  expect(Word::Less, "after", made.text);
  {
    const Keep<bool> inside(in_template_arguments_, true);
    const Nesting nesting(*this);
    made.type = parse_type();
  }
  expect(Word::Greater, "after the type of the cast");
  expect(Word::LeftParen, "before the value of the cast");
  const Keep<bool> outside(in_template_arguments_, false);
  made.operands = {parse_expression()};
  expect(Word::RightParen, "after the value of the cast");
  return finish(made);
}

ast::Expression* ParserImpl::parse_braces(const ast::TypeName* type) {
  const Nesting nesting(*this);
  ast::Expression& made = make_expression(ExpressionKind::Braces, type != nullptr ? type->at : at());
  made.type = type;
  expect(Word::LeftBrace, "before the values");
  if (is(Word::Dot) && is_name(word(1))) {
    parse_designated(made);
  } else {
    parse_arguments(made.operands, Word::RightBrace, "after the values");
  }
  return finish(made);
}

// {.x = 1, .y = {2, 3}}
void ParserImpl::parse_designated(ast::Expression& braces) {
  const Keep<bool> outside(in_template_arguments_, false);
  while (!is(Word::RightBrace)) {
    expect(Word::Dot, "before the name of a field");
    if (!is_name(word())) fail_expected("the name of a field");
    braces.fields.push_back(token().text);
    advance();
    if (is(Word::Dot) || is(Word::LeftBracket)) fail("a field of a field cannot be set by name: write {.a = {.b = 1}}");
    if (!is(Word::LeftBrace)) expect(Word::Equal, "after the name of the field");
    braces.operands.push_back(parse_initializer_clause());
    if (!take(Word::Comma)) break;
  }
  expect(Word::RightBrace, "after the values");
}

// [0] = …, where a lambda would have other words after its brackets.
bool ParserImpl::at_indexed() const { return is(Word::LeftBracket) && word_at(behind_group(index_)) == Word::Equal; }

// [3] = 1, [0 ... 7] = 1
ast::Expression* ParserImpl::parse_indexed() {
  ast::Expression& made = make_expression(ExpressionKind::Indexed, at());
  advance();
  ast::Expression* const first = parse_conditional();
  ast::Expression* const last = take(Word::Ellipsis) ? parse_conditional() : nullptr;
  expect(Word::RightBracket, "after the index");
  expect(Word::Equal, "after the index");
  made.operands = {parse_initializer_clause(), first};
  if (last != nullptr) made.operands.push_back(last);
  return finish(made);
}

void ParserImpl::parse_arguments(Expressions& into, Word end, std::string_view where, std::string_view of) {
  const Keep<bool> outside(in_template_arguments_, false);
  while (!is(end)) {
    if (end == Word::RightBrace && is(Word::Dot))
      fail("a list of values has names for all of its values, or for none: {.x = 1, .y = 2}");
    ast::Expression* argument = end == Word::RightBrace && at_indexed() ? parse_indexed() : parse_initializer_clause();
    argument->is_expansion |= take(Word::Ellipsis);
    into.push_back(argument);
    if (!take(Word::Comma)) break;
    if (is(end) && end != Word::RightBrace) fail_expected("a value after ','");
  }
  expect(end, where, of);
}

// ---- Parentheses ---------------------------------------------------------------------------------------------------

ast::Expression* ParserImpl::parse_parenthesis() {
  const Keep<bool> outside(in_template_arguments_, false);
  const Location where = at();
  advance();
  if (is(Word::Ellipsis)) return parse_fold(nullptr, false, where);
  const size_t packs = packs_seen_;
  ast::Expression* inner = parse_expression();
  if (!is(Word::RightParen) && (binary_precedence() > 0 || is(Word::Comma))) {
    return parse_fold(inner, packs_seen_ > packs, where);
  }
  expect(Word::RightParen, "after the expression");
  return inner;
}

// (... + pack), (pack + ...), (init + ... + pack), (pack + ... + init)
ast::Expression* ParserImpl::parse_fold(ast::Expression* first, bool first_is_pack, const Location& where) {
  ast::Expression& made = make_expression(ExpressionKind::Fold, where);
  const auto take_operator = [&] {
    const std::string_view op = at_shift_right() ? std::string_view(">>") : spelling(word());
    if (binary_precedence() == 0 && !is(Word::Comma)) {
      fail_expected("an operator beside \"...\"");
    }
    if (!made.op.empty() && made.op != op) fail(base::format("\"...\" is between \"{}\" and \"{}\"", made.op, op));
    made.op = op;
    index_ += op == ">>" ? 2 : 1;
  };
  if (first != nullptr) take_operator();
  expect(Word::Ellipsis, "in the fold");
  if (first != nullptr && is(Word::RightParen)) {
    made.operands = {first};
  } else {
    take_operator();
    ast::Expression* last = parse_cast();
    made.fold_left = first == nullptr || !first_is_pack;
    if (first == nullptr) {
      made.operands = {last};
    } else if (made.fold_left) {
      made.operands = {first, last};
    } else {
      made.operands = {last, first};
    }
  }
  expect(Word::RightParen, "after the fold");
  return finish(made);
}

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
  if (!is(Word::LeftBrace)) fail_expected("the body of the lambda");
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
      if (!is_name(word()) && !is(Word::This)) fail_expected("the name of a capture");
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
