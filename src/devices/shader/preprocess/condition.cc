#include "shader/preprocess/condition.h"

#include <utility>

#include "base/text.h"
#include "shader/ir/scalar.h"
#include "shader/preprocess/lexer.h"
#include "shader/preprocess/literals.h"

namespace kymo::shader {

namespace {

// The numbers of #if: 64 bits, unsigned if an operand is unsigned. Overflow wraps.
struct ConditionValue {
  uint64_t bits = 0;
  bool is_unsigned = false;

  bool is_true() const { return bits != 0; }
  bool is_negative() const { return !is_unsigned && static_cast<int64_t>(bits) < 0; }
};

struct ConditionOperator {
  std::string_view text;
  int strength;  // its precedence: 0 is the lowest
  ir::Operator op;
};

constexpr ConditionOperator kConditionOperators[] = {
    {"||", 0, ir::Operator::Or},         {"&&", 1, ir::Operator::And},          {"|", 2, ir::Operator::Or},
    {"^", 3, ir::Operator::Xor},         {"&", 4, ir::Operator::And},           {"==", 5, ir::Operator::Equal},
    {"!=", 5, ir::Operator::NotEqual},   {"<", 6, ir::Operator::Less},          {"<=", 6, ir::Operator::LessEqual},
    {">", 6, ir::Operator::Greater},     {">=", 6, ir::Operator::GreaterEqual}, {"<<", 7, ir::Operator::ShiftLeft},
    {">>", 7, ir::Operator::ShiftRight}, {"+", 8, ir::Operator::Add},           {"-", 8, ir::Operator::Subtract},
    {"*", 9, ir::Operator::Multiply},    {"/", 9, ir::Operator::Divide},        {"%", 9, ir::Operator::Remainder}};

// A binary operator; null: not an operator.
const ConditionOperator* find_condition_operator(std::string_view text) {
  for (const ConditionOperator& one : kConditionOperators) {
    if (one.text == text) return &one;
  }
  return nullptr;
}

// For a division, the caller has checked that `b` is not 0.
ConditionValue combine_conditions(const ConditionValue& a, const ConditionOperator& by, const ConditionValue& b) {
  constexpr uint64_t kWidth = 64;
  if (by.text == "||") return {a.is_true() || b.is_true() ? 1u : 0u, false};
  if (by.text == "&&") return {a.is_true() && b.is_true() ? 1u : 0u, false};
  const bool is_shift = by.op == ir::Operator::ShiftLeft || by.op == ir::Operator::ShiftRight;
  if (is_shift && (b.is_negative() || b.bits >= kWidth))  // only copies of the sign are left
    return {by.op == ir::Operator::ShiftRight && a.is_negative() ? ~uint64_t{0} : 0, a.is_unsigned};
  const bool is_unsigned = a.is_unsigned || (b.is_unsigned && !is_shift);
  const TypeKind kind = is_unsigned ? TypeKind::ULong : TypeKind::Long;
  return {*ir::scalar_binary(by.op, kind, a.bits, kind, b.bits), is_unsigned && !ir::is_comparison(by.op)};
}

// Expands only the line of a directive, while it lives.
class ExpandedLine {
 public:
  ExpandedLine(Expander& expander, std::vector<MacroToken> tokens) : expander_(expander) {
    expander_.begin_line(std::move(tokens));
  }
  ~ExpandedLine() { expander_.end_line(); }
  ExpandedLine(const ExpandedLine&) = delete;
  ExpandedLine& operator=(const ExpandedLine&) = delete;

 private:
  Expander& expander_;
};

class ConditionParser {
 public:
  ConditionParser(Expander& expander, MacroTable& macros, const HasHeader& has_header, const Location& directive)
      : expander_(expander), macros_(macros), has_header_(has_header), end_(directive) {
    advance();
  }

  bool parse() {
    if (!has_token_) throw Rejected{end_, "the condition is missing"};
    const ConditionValue value = comma();
    if (has_token_) throw unexpected("an operator");
    return value.is_true();
  }

 private:
  // Counts how deep it is in expressions inside expressions.
  class Level {
   public:
    explicit Level(ConditionParser& parser) : parser_(parser) {
      constexpr int kMax = 200;
      if (parser_.level_ == kMax) {
        throw Rejected{parser_.end_, base::format("the condition nests deeper than {}", kMax)};
      }
      ++parser_.level_;
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ConditionParser& parser_;
  };

  Rejected unexpected(std::string_view wanted) const {
    if (!has_token_) return {end_, base::format("expected {}, found the end of the condition", wanted)};
    return {token_.at, base::format("expected {} in the condition, not \"{}\"", wanted, token_.text)};
  }

  // ">>" comes as two tokens, which only the next token shows.
  void advance() {
    has_token_ = std::exchange(has_ahead_, false);
    if (has_token_) {
      token_ = ahead_;
    } else {
      has_token_ = expander_.next(token_);
    }
    if (has_token_) spell_operator(token_);
    if (!has_token_ || !token_.is(">")) return;
    has_ahead_ = expander_.next(ahead_);
    if (!has_ahead_ || !ahead_.is(">") || ahead_.space_before) return;
    token_.text = ">>";
    has_ahead_ = false;
  }

  void advance_plainly() { has_token_ = expander_.read(token_); }  // without expanding

  bool take(std::string_view text) {
    if (!has_token_ || !token_.is(text)) return false;
    advance();
    return true;
  }

  void expect(std::string_view text) {
    if (!take(text)) throw unexpected(base::format("\"{}\"", text));
  }

  ConditionValue comma() {
    ConditionValue value = conditional();
    while (take(",")) value = conditional();
    return value;
  }

  ConditionValue conditional() {
    const Level level(*this);
    const ConditionValue chosen = binary(0);
    if (!take("?")) return chosen;
    const ConditionValue first = without_counting(!chosen.is_true(), [this] { return comma(); });
    expect(":");
    const ConditionValue second = without_counting(chosen.is_true(), [this] { return conditional(); });
    return {chosen.is_true() ? first.bits : second.bits, first.is_unsigned || second.is_unsigned};
  }

  // Operands that are not evaluated are parsed too, but may divide by zero.
  template <typename Read>
  ConditionValue without_counting(bool skipped, Read read) {
    skipped_ += skipped ? 1 : 0;
    const ConditionValue value = read();
    skipped_ -= skipped ? 1 : 0;
    return value;
  }

  const ConditionOperator* operator_here() const {
    return has_token_ && token_.kind == TokenKind::Punctuator ? find_condition_operator(token_.text) : nullptr;
  }

  ConditionValue binary(int weakest) {
    ConditionValue left = unary();
    for (;;) {
      const ConditionOperator* const op = operator_here();
      if (op == nullptr || op->strength < weakest) return left;
      const Location at = token_.at;
      advance();
      const bool is_decided = (op->text == "&&" && !left.is_true()) || (op->text == "||" && left.is_true());
      const ConditionValue right = without_counting(is_decided, [&] { return binary(op->strength + 1); });
      const bool divides = op->text == "/" || op->text == "%";
      if (divides && !right.is_true()) {
        if (skipped_ == 0) throw Rejected{at, "the condition divides by zero"};
        continue;
      }
      left = combine_conditions(left, *op, right);
    }
  }

  ConditionValue unary() {
    const Level level(*this);
    if (take("!")) return {unary().is_true() ? 0u : 1u, false};
    if (take("+")) return unary();
    if (take("-")) {
      const ConditionValue value = unary();
      return {0 - value.bits, value.is_unsigned};
    }
    if (take("~")) {
      const ConditionValue value = unary();
      return {~value.bits, value.is_unsigned};
    }
    if (take("(")) {
      const ConditionValue value = comma();
      expect(")");
      return value;
    }
    return primary();
  }

  ConditionValue primary() {
    if (!has_token_) throw unexpected("a value");
    ConditionValue value;
    switch (token_.kind) {
      case TokenKind::Identifier:
        return name();
      case TokenKind::Integer:
      case TokenKind::Float:
        value = number();
        break;
      case TokenKind::Character: {
        const auto character = character_value(token_.text);
        if (!character) throw Rejected{token_.at, base::format("{} is not one character", token_.text)};
        value.bits = static_cast<uint64_t>(int64_t{static_cast<signed char>(*character)});
        break;
      }
      default:
        throw unexpected("a value");
    }
    advance();
    return value;
  }

  ConditionValue number() const {
    const NumberSpelling spelling = spelling_of_number(token_.text);
    if (!spelling.fault.empty()) throw Rejected{token_.at, spelling.fault};
    const auto value = integer_value(token_.text);
    if (!value) throw Rejected{token_.at, base::format("a condition may contain only integers, not {}", token_.text)};
    return {value->value, value->is_unsigned};
  }

  ConditionValue name() {
    const MacroToken name = token_;
    if (name.text == "defined") return is_defined();
    if (name.text.starts_with("__has_")) return has_feature(name);
    advance();
    if (has_token_ && token_.is("(")) {
      throw Rejected{name.at, base::format("there is no macro \"{}\" that takes arguments", name.text)};
    }
    return {name.text == "true" ? 1u : 0u, false};
  }

  ConditionValue is_defined() {
    advance_plainly();
    const bool has_parenthesis = has_token_ && token_.is("(");
    if (has_parenthesis) advance_plainly();
    if (!has_token_ || token_.kind != TokenKind::Identifier) throw unexpected("a name after defined");
    const bool value = macros_.find(token_.text) != nullptr;
    advance();
    if (has_parenthesis) expect(")");
    return {value ? 1u : 0u, false};
  }

  // __has_include checks for a header; the other __has_... are always 0.
  ConditionValue has_feature(const MacroToken& name) {
    advance_plainly();
    if (!has_token_ || !token_.is("(")) throw unexpected(base::format("\"(\" after {}", name.text));
    std::vector<MacroToken> inner;
    for (size_t open = 1;;) {
      advance_plainly();
      if (!has_token_) throw unexpected("\")\"");
      if (token_.is("(")) ++open;
      if (token_.is(")") && --open == 0) break;
      inner.push_back(token_);
    }
    bool value = false;
    if (name.text == "__has_include") {
      const auto header = header_name(inner, expander_);
      if (!header) throw Rejected{name.at, "__has_include needs a \"name\" or a <name>"};
      value = has_header_(*header);
    }
    advance();
    return {value ? 1u : 0u, false};
  }

  Expander& expander_;
  MacroTable& macros_;
  const HasHeader& has_header_;
  Location end_;
  MacroToken token_, ahead_;
  bool has_token_ = false, has_ahead_ = false;
  int level_ = 0, skipped_ = 0;
};

std::optional<std::string> plain_header_name(const std::vector<MacroToken>& tokens) {
  if (tokens.size() == 1 && tokens[0].kind == TokenKind::String) {
    return std::string(tokens[0].text.substr(1, tokens[0].text.size() - 2));
  }
  if (tokens.size() < 3 || !tokens.front().is("<") || !tokens.back().is(">")) return std::nullopt;
  std::string name;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (tokens[i].space_before && i > 1) name += ' ';
    name += tokens[i].text;
  }
  return name;
}

}  // namespace

std::optional<std::string> header_name(const std::vector<MacroToken>& tokens, Expander& expander) {
  if (auto name = plain_header_name(tokens)) return name;
  std::vector<MacroToken> expanded;
  const ExpandedLine line(expander, tokens);
  for (MacroToken token; expander.next(token);) expanded.push_back(token);
  return plain_header_name(expanded);
}

bool evaluate_condition(std::vector<MacroToken> line, const Location& directive, Expander& expander, MacroTable& macros,
                        const HasHeader& has_header) {
  const ExpandedLine expanded(expander, std::move(line));
  return ConditionParser(expander, macros, has_header, directive).parse();
}

}  // namespace kymo::shader
