#include <algorithm>

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

ast::Statement& ParserImpl::make_statement(ast::StatementKind kind) {
  ast::Statement& made = tree_.make_statement();
  made.kind = kind;
  made.at = at();
  made.unroll = token().unroll;
  return made;
}

const ast::Statement* ParserImpl::parse_block() {
  ast::Statement& made = make_statement(ast::StatementKind::Block);
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  expect(Word::LeftBrace, "before the statements");
  parse_statements(made.statements);
  if (is(Word::End) && !diagnostics_.is_full())
    throw Rejected{at(),
                   "expected '}' after the statements, found the end of the text",
                   {{Severity::Note, made.at, "this '{' has no '}'"}}};
  expect(Word::RightBrace, "after the statements");
  return &made;
}

void ParserImpl::parse_statements(std::vector<const ast::Statement*>& into) {
  while (!is(Word::RightBrace) && !is(Word::End) && !diagnostics_.is_full()) {
    const size_t start = index_, friends = namespace_members_->size();
    try {
      into.push_back(parse_statement());
    } catch (const Rejected& rejected) {
      namespace_members_->resize(std::min(friends, namespace_members_->size()));
      report(rejected);
      pending_ = Head();
      recover(start);
      while (is(Word::Else)) recover(index_);  // of an if that was skipped
    }
  }
}

const ast::Statement* ParserImpl::parse_statement() {
  const Nesting nesting(*this);
  if (at_attributes()) {
    std::vector<ast::Attribute> dropped;  // unroll, likely, …: advice
    parse_attributes(dropped);
  }
  switch (word()) {
    case Word::LeftBrace:
      return parse_block();
    case Word::Semicolon: {
      ast::Statement& made = make_statement(ast::StatementKind::Empty);
      advance();
      return &made;
    }
    case Word::If:
      return parse_if();
    case Word::While:
      return parse_while();
    case Word::Do:
      return parse_do();
    case Word::For:
      return parse_for();
    case Word::Switch:
      return parse_switch();
    case Word::Case:
    case Word::Default:
      return parse_label();
    case Word::Break:
    case Word::Continue: {
      ast::Statement& made = make_statement(is(Word::Break) ? ast::StatementKind::Break : ast::StatementKind::Continue);
      const std::string_view name = token().text;
      advance();
      expect_semicolon("", name);
      return &made;
    }
    case Word::Return:
      return parse_return();
    case Word::Else:
      fail("\"else\" without an \"if\" before it");
    default:
      return parse_simple_statement();
  }
}

const ast::Statement* ParserImpl::parse_simple_statement() {
  if (is_name(word()) && word(1) == Word::Colon) refuse("goto and its labels are");
  if (at_declaration()) {
    ast::Statement& made = make_statement(ast::StatementKind::Declare);
    parse_declaration({Place::Block, &made.declarations});
    return &made;
  }
  ast::Statement& made = make_statement(ast::StatementKind::Expression);
  made.expression = parse_expression();
  expect_semicolon("the expression");
  return &made;
}

// The statement after if, for, …: it has its own scope.
const ast::Statement* ParserImpl::parse_substatement() {
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  if (!is(Word::Case) && !is(Word::Default)) return parse_statement();
  ast::Statement& block = make_statement(ast::StatementKind::Block);
  while (is(Word::Case) || is(Word::Default)) block.statements.push_back(parse_label());
  block.statements.push_back(parse_statement());
  return &block;
}

const ast::Statement* ParserImpl::parse_label() {
  const bool is_case = is(Word::Case);
  ast::Statement& made = make_statement(is_case ? ast::StatementKind::Case : ast::StatementKind::Default);
  advance();
  if (is_case) {
    made.expression = parse_conditional();
    if (is(Word::Ellipsis)) refuse("ranges in case labels are");
  }
  expect(Word::Colon, is_case ? "after the case's value" : "after \"default\"");
  return &made;
}

const ast::Statement* ParserImpl::parse_return() {
  ast::Statement& made = make_statement(ast::StatementKind::Return);
  advance();
  if (is(Word::LeftBrace)) {
    made.expression = parse_braces(nullptr);
  } else if (!is(Word::Semicolon) && !is(Word::RightBrace)) {
    made.expression = parse_expression();
  }
  expect_semicolon(made.expression != nullptr ? "the returned value" : "\"return\"");
  return &made;
}

// ---- Branches and loops --------------------------------------------------------------------------------------------

// (init; condition): the condition may declare a variable.
void ParserImpl::parse_condition(ast::Statement& statement, bool may_init) {
  expect(Word::LeftParen, "before the condition");
  for (bool has_init = !may_init;; has_init = true) {
    ast::Statement& part = make_statement(ast::StatementKind::Empty);
    if (at_declaration()) {
      part.kind = ast::StatementKind::Declare;
      const Context context{Place::Block, &part.declarations};
      const Specifiers specifiers = parse_specifiers(context);
      parse_declarators(specifiers, context);
    } else if (!is(Word::Semicolon)) {
      part.kind = ast::StatementKind::Expression;
      part.expression = parse_expression();
    }
    if (!has_init && take(Word::Semicolon)) {
      if (part.kind != ast::StatementKind::Empty) statement.init = &part;
      continue;
    }
    if (part.kind == ast::StatementKind::Empty) fail_expected("a condition");
    statement.expression = part.expression;
    statement.declarations = part.declarations;
    return expect(Word::RightParen, "after the condition");
  }
}

const ast::Statement* ParserImpl::parse_if() {
  ast::Statement& made = make_statement(ast::StatementKind::If);
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  advance();
  made.is_constexpr = take(Word::Constexpr);
  parse_condition(made, true);
  made.body = parse_substatement();
  if (take(Word::Else)) {
    constexpr int kRoom = 10;  // for the condition
    if (is(Word::If) && depth_ >= kMaxNesting - kRoom)
      fail(base::format("a chain of more than {} \"else if\" is not supported: use a switch, or split it",
                        kMaxNesting - kRoom));
    made.otherwise = parse_substatement();
  }
  return &made;
}

const ast::Statement* ParserImpl::parse_while() {
  ast::Statement& made = make_statement(ast::StatementKind::While);
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  advance();
  parse_condition(made, false);
  made.body = parse_substatement();
  return &made;
}

const ast::Statement* ParserImpl::parse_do() {
  ast::Statement& made = make_statement(ast::StatementKind::DoWhile);
  advance();
  made.body = parse_substatement();
  expect(Word::While, "after the body of \"do\"");
  expect(Word::LeftParen, "after \"while\"");
  made.expression = parse_expression();
  expect(Word::RightParen, "after the condition");
  expect_semicolon("the condition");
  return &made;
}

const ast::Statement* ParserImpl::parse_switch() {
  ast::Statement& made = make_statement(ast::StatementKind::Switch);
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  advance();
  parse_condition(made, true);
  made.body = parse_substatement();
  return &made;
}

const ast::Statement* ParserImpl::parse_for() {
  ast::Statement& made = make_statement(ast::StatementKind::For);
  const Keep<NameScope*> in_scope(scope_, names_.open(NameScope::Kind::Block, scope_));
  advance();
  expect(Word::LeftParen, "after \"for\"");
  ast::Statement& init = make_statement(ast::StatementKind::Empty);
  if (at_declaration()) {
    init.kind = ast::StatementKind::Declare;
    Context context{Place::Block, &init.declarations};
    context.may_range = true;
    const Specifiers specifiers = parse_specifiers(context);
    parse_declarators(specifiers, context);
    if (take(Word::Colon)) {
      made.kind = ast::StatementKind::RangeFor;
      made.declarations = std::move(init.declarations);
      made.expression = parse_initializer_clause();
      expect(Word::RightParen, "after the range of \"for\"");
      made.body = parse_substatement();
      return &made;
    }
  } else if (!is(Word::Semicolon)) {
    init.kind = ast::StatementKind::Expression;
    init.expression = parse_expression();
  }
  if (init.kind != ast::StatementKind::Empty) made.init = &init;
  expect(Word::Semicolon, "after the beginning of \"for\"");
  if (!is(Word::Semicolon)) {
    if (at_declaration()) refuse("variables in the condition of \"for\" are");
    made.expression = parse_expression();
  }
  expect(Word::Semicolon, "after the condition of \"for\"");
  if (!is(Word::RightParen)) made.step = parse_expression();
  expect(Word::RightParen, "after the step of \"for\"");
  made.body = parse_substatement();
  return &made;
}

// ---- Declaration or expression? ------------------------------------------------------------------------------------

bool ParserImpl::at_declaration() {
  if (begins_type(word())) return true;
  switch (word()) {
    case Word::Constexpr:
    case Word::Static:
    case Word::Inline:
    case Word::Extern:
    case Word::Register:
    case Word::Typedef:
    case Word::Using:
    case Word::StaticAssert:
    case Word::Namespace:
    case Word::Template:
    case Word::Alignas:
    case Word::Attribute:
    case Word::ThreadLocal:
      return true;
    default:
      if (!at_head() || (is(Word::AsType) && word(1) == Word::Less)) return false;
  }
  if (at_coherent()) return true;
  const Head& head = peek_head(false);
  size_t i = head.end;
  const Word next = word_at(i);
  if (head.is_type) {
    if (next != Word::LeftParen) return next != Word::LeftBrace;
    // float (*p)[4], float (*p)(int) and float (*p[2])(int), which is refused; but not float(*p).
    const Word first = word_at(i + 1), third = word_at(i + 3);
    const bool is_nested = first == Word::Star || first == Word::Amp || first == Word::AmpAmp;
    if (!is_nested || !is_name(word_at(i + 2))) return false;
    if (third != Word::RightParen && third != Word::LeftBracket) return false;
    const size_t behind = behind_group(i);
    if (word_at(behind) == Word::LeftBracket) return true;
    return word_at(behind) == Word::LeftParen &&
           (word_at(behind + 1) == Word::RightParen || begins_parameter(behind + 1));
  }
  if (head.meaning.known() || head.is_function) return false;
  // A name that there is not: "Missing x" and "Missing* x =" are meant as declarations.
  if (is_name(next)) return true;
  while (word_at(i) == Word::Star || word_at(i) == Word::Amp || word_at(i) == Word::Const) ++i;
  return i > head.end && is_name(word_at(i)) && (word_at(i + 1) == Word::Equal || word_at(i + 1) == Word::Semicolon);
}

}  // namespace kymo::shader
