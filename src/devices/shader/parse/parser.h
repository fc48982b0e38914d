// Converts tokens to a tree. Recursive descent, with a table of names to distinguish types and templates from values.
//
// An error is reported, and parsing continues with the next declaration or statement. The nesting depth is limited, so
// that no input exhausts the stack. Time is linear in the tokens, except for template arguments, which are tried once
// as types.
#pragma once

#include <memory>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/parse/ast.h"
#include "shader/preprocess/lexer.h"

namespace kymo::shader {

class ParserNames;  // names known so far, by scope

// Parses several texts into one tree, one after the other: the standard library first, then the user's.
class Parser {
 public:
  Parser(ast::Tree& tree, Diagnostics& diagnostics);
  // Continues with the names that `before` knows. The tree must begin with the declarations of its tree.
  Parser(ast::Tree& tree, Diagnostics& diagnostics, const Parser& before);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void parse(const std::vector<Token>& tokens);

 private:
  ast::Tree& tree_;
  Diagnostics& diagnostics_;
  std::unique_ptr<ParserNames> names_;
};

}  // namespace kymo::shader
