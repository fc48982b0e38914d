// Operators, by precedence.

#include <algorithm>

#include "base/text.h"
#include "shader/parse/parser_impl.h"

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

}  // namespace kymo::shader
