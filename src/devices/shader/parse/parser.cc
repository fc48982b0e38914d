#include "shader/parse/parser.h"

#include "base/text.h"
#include "shader/parse/parser_impl.h"

namespace kymo::shader {

namespace {

constexpr size_t kTokenPadding = 8;  // end tokens after the last token, so that lookahead needs no check

std::string parser_quoted(std::string_view name) {
  return name.empty() ? std::string() : base::format(" \"{}\"", name);
}

}  // namespace

Parser::Parser(ast::Tree& tree, Diagnostics& diagnostics)
    : tree_(tree), diagnostics_(diagnostics), names_(std::make_unique<ParserNames>()) {}

Parser::Parser(ast::Tree& tree, Diagnostics& diagnostics, const Parser& before)
    : tree_(tree), diagnostics_(diagnostics), names_(std::make_unique<ParserNames>(*before.names_)) {}

Parser::~Parser() = default;

void Parser::parse(const std::vector<Token>& tokens) { ParserImpl(tree_, diagnostics_, *names_, tokens).run(); }

// ---- The whole -----------------------------------------------------------------------------------------------------

ParserImpl::ParserImpl(ast::Tree& tree, Diagnostics& diagnostics, ParserNames& names, const std::vector<Token>& tokens)
    : tree_(tree), diagnostics_(diagnostics), names_(names), tokens_(tokens), scope_(names.global()) {
  words_.reserve(tokens.size() + kTokenPadding);
  for (const Token& token : tokens) {
    words_.push_back(names.words.word(token));
    if (words_.back() == Word::End) break;
  }
  if (!tokens.empty()) end_.at = tokens[words_.size() - 1].at;
  words_.resize(words_.size() + kTokenPadding, Word::End);
  namespace_members_ = &tree.declarations;
}

void ParserImpl::run() {
  const Context context{Place::Namespace, &tree_.declarations};
  while (!is(Word::End) && !diagnostics_.is_full()) {
    if (is(Word::RightBrace)) {
      report({at(), "\"}\" without an opening brace"});
      advance();
      take(Word::Semicolon);
    } else {
      parse_or_recover(context);
    }
  }
}

// ---- Tokens --------------------------------------------------------------------------------------------------------

const Token& ParserImpl::token_at(size_t index) const {
  return index < tokens_.size() && words_[index] != Word::End ? tokens_[index] : end_;
}

bool ParserImpl::take(Word wanted) {
  if (!is(wanted)) return false;
  advance();
  return true;
}

void ParserImpl::expect(Word wanted, std::string_view where, std::string_view of) {
  if (take(wanted)) return;
  fail(base::format("expected '{}' {}{}, found {}", spelling(wanted), where, parser_quoted(of), found()));
}

// A missing semicolon is reported after the previous token. If a new line begins there, nothing is skipped.
void ParserImpl::expect_semicolon(std::string_view behind, std::string_view of) {
  if (take(Word::Semicolon)) return;
  const std::string text = base::format("expected ';' after {}{}, found {}", behind, parser_quoted(of), found());
  if (index_ == 0 || (!token().line_start && !is(Word::End) && !is(Word::RightBrace))) fail(text);
  const Token& before = token_at(index_ - 1);
  Location where = before.at;
  where.column += static_cast<uint32_t>(before.text.size());
  report({where, text});
}

std::string ParserImpl::found() const {
  return is(Word::End) ? std::string("the end of the text") : base::format("\"{}\"", token().text);
}

size_t ParserImpl::behind_group(size_t index) const {
  size_t depth = 0;
  for (;; ++index) {
    switch (word_at(index)) {
      case Word::LeftParen:
      case Word::LeftBracket:
      case Word::LeftBrace:
        ++depth;
        break;
      case Word::RightParen:
      case Word::RightBracket:
      case Word::RightBrace:
        if (--depth == 0) return index + 1;
        break;
      case Word::End:
        return index;
      default:
        break;
    }
  }
}

bool ParserImpl::at_shift_right() const {
  return is(Word::Greater) && word(1) == Word::Greater && !token_at(index_ + 1).space_before;
}

// ---- Faults --------------------------------------------------------------------------------------------------------

ParserImpl::Nesting::Nesting(ParserImpl& parser) : depth_(parser.depth_) {
  if (depth_ >= kMaxNesting) {
    parser.fail(base::format("this nests deeper than {} levels: split it into functions or variables", kMaxNesting));
  }
  ++depth_;
}

void ParserImpl::fail(std::string text) const { fail(at(), std::move(text)); }

void ParserImpl::fail(const Location& at, std::string text) { throw Rejected{at, std::move(text)}; }

void ParserImpl::fail_expected(std::string_view what) const {
  fail(base::format("expected {}, found {}", what, found()));
}

void ParserImpl::refuse(std::string_view what) const { fail(base::format("{} not supported", what)); }

void ParserImpl::fail_at_word() {
  switch (word()) {
    case Word::Goto:
      refuse("goto is");
    case Word::Try:
    case Word::Catch:
    case Word::Throw:
      refuse(base::format("exceptions (\"{}\") are", token().text));
    case Word::New:
    case Word::Delete:
      refuse(base::format("\"{}\" is", token().text));
    case Word::Typeid:
    case Word::DynamicCast:
      refuse(base::format("run-time type information (\"{}\") is", token().text));
    case Word::Virtual:
    case Word::Override:
      refuse(base::format("virtual functions and bases (\"{}\") are", token().text));
    case Word::Concept:
    case Word::Requires:
      refuse(base::format("concepts (\"{}\") are", token().text));
    case Word::Asm:
      refuse("assembly (\"asm\") is");
    case Word::ThreadLocal:
      refuse("thread_local is");
    default:
      fail_expected("an expression");
  }
}

void ParserImpl::report(const Rejected& rejected) {
  // Everything that is open where the text ends is unfinished: once is enough.
  if (is(Word::End) && std::exchange(end_reported_, true)) return;
  diagnostics_.report(rejected);
}

void ParserImpl::recover(size_t start) {
  const auto goes_on = [this](size_t index) {  // after a brace that does not end a statement
    const Word next = word_at(index);
    return next == Word::Else || next == Word::Comma || next == Word::Dot || next == Word::RightParen ||
           next == Word::RightBracket ||
           (next >= Word::Question && next <= Word::ShiftRightEqual && !token_at(index).line_start);
  };
  const size_t fault = index_;
  const bool is_for = word_at(start) == Word::For;
  size_t braces = 0, parentheses = 0;
  for (size_t i = start;; ++i) {
    switch (word_at(i)) {
      case Word::LeftParen:
        ++parentheses;
        break;
      case Word::RightParen:
        parentheses -= parentheses > 0 ? 1 : 0;
        break;
      case Word::LeftBrace:
        ++braces;
        break;
      case Word::RightBrace:
        if (braces == 0 && i < fault) break;
        if (braces == 0) {
          index_ = i;
          return;
        }
        if (--braces != 0 || i < fault || goes_on(i + 1)) break;
        index_ = i + 1;
        take(Word::Semicolon);
        return;
      case Word::Semicolon:
        if (i < fault || braces != 0 || (is_for && parentheses != 0)) break;
        index_ = i + 1;
        return;
      case Word::End:
        index_ = i;
        return;
      default:
        break;
    }
  }
}

}  // namespace kymo::shader
