#include "query/statements.h"

#include <cctype>
#include <utility>

namespace kymo::query {
namespace {

// The position after the token that starts at `at`: a quoted text, a comment, or one character. npos: it is not
// complete.
size_t after_token(std::string_view text, size_t at) {
  const auto after = [&](std::string_view end, size_t from) {
    const size_t found = text.find(end, from);
    return found == text.npos ? text.npos : found + end.size();
  };
  switch (text[at]) {
    case '\'':
    case '"':
      return after(text.substr(at, 1), at + 1);  // a doubled quote is two texts
    case '-':
      return text.substr(at).starts_with("--") ? after("\n", at) : at + 1;
    case '/':
      return text.substr(at).starts_with("/*") ? after("*/", at + 2) : at + 1;
    case '$': {
      size_t end = at + 1;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
      if (end == text.size() || text[end] != '$') return at + 1;
      return after(text.substr(at, end + 1 - at), end + 1);
    }
    default:
      return at + 1;
  }
}

bool is_comment(std::string_view text, size_t at) {
  return text.substr(at).starts_with("--") || text.substr(at).starts_with("/*");
}

// Without the white space in front, so that the lines of an error message count from the first line of the statement.
std::string_view without_space(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

bool has_content(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (!is_comment(text, at) && !std::isspace(static_cast<unsigned char>(text[at]))) return true;
    at = after_token(text, at);
  }
  return false;
}

}  // namespace

std::vector<std::string> StatementSplitter::add(std::string_view text) {
  text_ += text;
  std::vector<std::string> statements;
  size_t begin = 0;
  for (size_t at = 0; at < text_.size();) {
    if (text_[at] == ';') {
      const std::string_view statement = without_space(std::string_view(text_).substr(begin, at - begin));
      if (has_content(statement)) statements.emplace_back(statement);
      begin = at + 1;
    }
    at = after_token(text_, at);
  }
  text_.erase(0, begin);
  return statements;
}

std::string StatementSplitter::rest() {
  if (!has_content(text_)) return {};
  return std::string(without_space(std::exchange(text_, {})));
}

bool StatementSplitter::is_empty() const { return !has_content(text_); }

std::vector<std::string> split_statements(std::string_view text) {
  StatementSplitter splitter;
  std::vector<std::string> statements = splitter.add(text);
  if (std::string rest = splitter.rest(); !rest.empty()) statements.push_back(std::move(rest));
  return statements;
}

}  // namespace kymo::query
