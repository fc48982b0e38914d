// Reads the files of a translation, including nested ones, and executes their directives. The result is the tokens in
// which macros are expanded.
//
// A wrong directive is reported and skipped; a wrong condition counts as false.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/preprocess/expander.h"
#include "shader/preprocess/lexer.h"
#include "shader/preprocess/macros.h"
#include "shader/preprocess/preprocessor.h"
#include "shader/preprocess/unroll_wish.h"

namespace kymo::shader {

class SourceReader : public TokenSource {
 public:
  // `input` must outlive the reader.
  SourceReader(SourceFiles& files, const PreprocessorInput& input, std::deque<std::string>& texts,
               Diagnostics& diagnostics);

  void define(std::string_view option);                // "NAME", "NAME=VALUE", "NAME(A, B)=VALUE"
  void open(std::string name, std::string_view text);  // throws Rejected if the text is too long

  Token next() override;
  Expander& expander() { return expander_; }

 private:
  // An #if whose group is being read.
  struct Conditional {
    Location at;
    bool was_taken = false;  // one of its groups was read, or is being read
    bool had_else = false;
  };

  struct OpenFile {
    Lexer lexer;
    size_t conditionals;  // number of open conditionals when it began
  };

  void do_directive();
  void do_other(const Token& name);
  void do_line(const Token& name, std::string_view rest);
  void do_define(const Token& name);
  void do_undef(const Token& name);
  void do_include(const Token& name);
  void close_file();

  // conditionals.cc
  bool do_conditional(const Token& name);  // false: it is another directive
  void begin_conditional(const Token& name);
  bool begin_alternative(const Token& name);  // #else, #elif, …: whether its group is read
  void end_conditional(const Token& name);
  bool is_met(const Token& name);  // #if, #ifdef, #elif, …
  void skip_group();               // to the point where reading continues
  void end_open_conditionals(size_t expected);

  Token macro_name(const Token& directive);
  std::vector<MacroToken> rest_of_line();
  void end_line(const Token& directive);
  struct FoundHeader {
    std::string name;
    std::string_view text;
    bool is_builtin = false;
  };
  std::optional<FoundHeader> find_header(std::string_view name);
  std::string no_header(std::string_view name) const;
  Lexer& lexer() { return open_.back().lexer; }

  SourceFiles& files_;
  const PreprocessorInput& input_;
  std::deque<std::string>& texts_;
  Diagnostics& diagnostics_;
  MacroTable macros_;
  Expander expander_;
  std::vector<OpenFile> open_;  // the outermost first
  std::vector<Conditional> conditionals_;
  std::unordered_set<std::string> once_;  // headers that are not read again
  size_t headers_read_ = 0;
  uint16_t unroll_ = kNoUnrollWish;  // of the directive that was just read
};

}  // namespace kymo::shader
