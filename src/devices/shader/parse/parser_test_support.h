// For tests: from a source to its tree as text and its errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/parse/parser.h"
#include "shader/preprocess/preprocessor.h"
#include "shader/test_support/print_tree.h"

namespace kymo::shader::testing {

class Parsed {
 public:
  explicit Parsed(std::string_view text)
      : diagnostics_(files_), preprocessor_(files_, diagnostics_), parser_(tree_, diagnostics_) {
    add(text);
  }

  void add(std::string_view text) {
    PreprocessorInput input;
    input.text = text;
    parser_.parse(preprocessor_.run(input));
  }

  const ast::Tree& tree() const { return tree_; }
  const ast::Declaration& last() const { return *tree_.declarations.back(); }
  bool ok() const { return !diagnostics_.has_errors(); }

  // "line:column: text", a line each.
  std::string errors() const {
    std::string text;
    for (const Report& each : diagnostics_.list()) {
      if (!text.empty()) text += '\n';
      text += std::to_string(each.at.line) + ":" + std::to_string(each.at.column) + ": " + each.text;
    }
    return text;
  }

  // The declarations from the given one on; the errors, if there are any.
  std::string text(size_t first = 0) const {
    std::string text;
    for (size_t i = first; i < tree_.declarations.size(); ++i) {
      if (!text.empty()) text += '\n';
      text += ast::print(*tree_.declarations[i]);
    }
    return ok() ? text : text + "\n" + errors();
  }

 private:
  SourceFiles files_;
  Diagnostics diagnostics_;
  Preprocessor preprocessor_;
  ast::Tree tree_;
  Parser parser_;
};

inline std::string parsed(std::string_view text) { return Parsed(text).text(); }

inline std::string parse_errors(std::string_view text) { return Parsed(text).errors(); }

// Statements inside a function: without the braces around them.
inline std::string parsed_body(std::string_view text, std::string_view before = {}) {
  Parsed all(before);
  all.add("void f() {\n" + std::string(text) + "\n}");
  if (!all.ok()) return all.errors();
  const std::string body = ast::print(*all.last().body);
  return body.size() > 4 ? body.substr(2, body.size() - 4) : std::string();
}

inline std::string parsed_expression(std::string_view text, std::string_view before = {}) {
  Parsed all(before);
  all.add("auto x = " + std::string(text) + ";");
  return all.ok() ? ast::print(*all.last().initializer) : all.errors();
}

}  // namespace kymo::shader::testing
