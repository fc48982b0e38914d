// Converts characters to tokens: the text of one file, one token at a time. It does not know directives and macros.
//
// Comments count as spaces. A line that ends with a backslash continues on the next one. A raw string becomes an
// ordinary one with the same content. Numbers are read as loosely as the preprocessor requires (literals.h checks
// them). Text that is not a token is reported and skipped. Time is linear in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "shader/diagnostic.h"

namespace kymo::shader {

enum class TokenKind : uint8_t {
  End,         // the last one
  Identifier,  // keywords too: the parser knows them
  Integer,     // as written: "0x1fU"
  Float,       // as written: "1.5h"
  Character,   // as written, with its quotes
  String,      // as written, with its quotes; adjacent strings are not joined yet
  Punctuator,  // the longest match; but ">" is always one token (">>" is two tokens with adjacent columns), and "[[" is
               // two tokens too. Until macros are expanded, an operator that is a word keeps its spelling: "and"
  Pragma,      // a #pragma with a wish for a loop, until macros are expanded. Then the next token has the wish
};

// What a pragma asks of the loop that follows it: how many rounds to write one after another.
inline constexpr uint16_t kNoUnrollWish = 0, kNeverUnroll = 1, kUnrollAll = UINT16_MAX;

// The text of the pragma: "unroll", "unroll 4", "unroll(4)", "nounroll", "clang loop unroll(full)", "clang loop
// unroll_count(4)" and similar ones. kNoUnrollWish: it is another pragma.
uint16_t unroll_wish(std::string_view pragma);

// A token of a source, after preprocessing.
struct Token {
  TokenKind kind = TokenKind::End;
  bool space_before = false;  // for ">>" against "> >", and for #
  bool line_start = false;    // the first of its line
  uint16_t unroll = 0;        // of the pragma before it
  std::string_view text;      // valid while the translation lives
  Location at;                // of a token from a macro: the position of the macro's name in the source

  bool is(std::string_view punctuator) const { return kind == TokenKind::Punctuator && text == punctuator; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Identifier && text == name; }
};

class Lexer {
 public:
  // `text` and `texts` must outlive the tokens. `texts` stores token texts that are not in `text` in the same form.
  Lexer(std::string_view text, uint32_t file, std::deque<std::string>& texts, Diagnostics& diagnostics);

  Token next();                     // after the last one: always End
  bool next_in_line(Token& token);  // false at the end of the line; then the token is unchanged
  std::string_view rest_of_line();  // as it is written, without surrounding space; errors in it are not reported

  void mute(bool muted) { muted_ = muted; }  // for groups that #if skips: errors are not reported
  Location here() const;

 private:
  struct Join {
    size_t at;        // in text_: a line begins here
    size_t original;  // in original_
  };

  void remove_joins();
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool skip_space(bool in_line);  // false: end of the line (or of the text)
  void skip_comment();
  void skip_to(size_t end);
  void new_line(size_t begin);  // a line begins there
  void catch_up(size_t at);     // with the joined lines up to there
  bool scan(Token& token);      // false: it was not a token, and was reported
  void scan_quoted(Token& token);
  void scan_raw_string(Token& token);
  void skip_unknown();
  void fault(const Location& at, std::string text);

  std::string_view text_, original_;
  uint32_t file_;
  std::deque<std::string>& texts_;
  Diagnostics& diagnostics_;
  std::vector<Join> joins_;
  size_t next_join_ = 0;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  uint32_t line_ = 1;
  bool line_start_ = true, space_before_ = false, muted_ = false;
};

// Writes an operator that is a word as its sign: `and` becomes "&&". Macros see the word: op##_bool is and_bool.
void spell_operator(Token& token);

// The only token of a text; false if there is none, or several.
bool lex_one(std::string_view text, std::deque<std::string>& texts, Token& token);

}  // namespace kymo::shader
