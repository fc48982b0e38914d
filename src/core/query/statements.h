// Splits text into SQL statements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kymo::query {

// Statements are separated by semicolons; a semicolon in quotes ('…', "…", $$…$$) or in a comment does not count.
class StatementSplitter {
 public:
  // Adds text, and returns the statements that it completes, without the semicolons and without empty ones.
  std::vector<std::string> add(std::string_view text);

  // What is not complete yet, and nothing more is expected.
  std::string rest();
  bool is_empty() const;  // nothing but white space and comments so far

 private:
  std::string text_;
};

std::vector<std::string> split_statements(std::string_view text);

}  // namespace kymo::query
