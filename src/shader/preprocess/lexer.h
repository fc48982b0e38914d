// Characters become tokens: one file's text, one token at a time. Knows nothing of directives and macros.
//
// Comments are spaces. A line that ends with a backslash goes on with the next one. A raw string comes as an ordinary
// one of the same content. Numbers are taken as widely as the preprocessor must (numbers.h says whether one is right).
// What is no token is reported and gone over. Time is linear in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/token.h"

namespace kymo::shader {

class Lexer {
 public:
  // `text` must outlive the tokens, and so must `texts`: that is where what does not stand in the text as it is goes.
  Lexer(std::string_view text, uint32_t file, std::deque<std::string>& texts, Diagnostics& diagnostics);

  Token next();                     // behind the last one: End, as often as asked
  bool next_in_line(Token& token);  // false, and the token untouched, where the line ends
  std::string_view rest_of_line();  // as it is written, without space around; nothing in it is reported

  void mute(bool muted) { muted_ = muted; }  // for what #if leaves out: faults are gone over in silence
  Location here() const;

 private:
  struct Join {
    size_t at;        // in text_: what stands here began a line
    size_t original;  // in original_
  };

  void remove_joins();
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool skip_space(bool in_line);  // false: the line (or the text) ends
  void skip_comment();
  void skip_to(size_t end);
  void new_line(size_t begin);  // a line begins there
  void catch_up(size_t at);     // with the lines that joins began up to there
  bool scan(Token& token);      // false: it was no token, but was reported
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

// The one token that a text consists of, all of it; false where it is none or several.
bool lex_one(std::string_view text, std::deque<std::string>& texts, Token& token);

}  // namespace kymo::shader
