#include "device/cuda/source_tokens.h"

#include <algorithm>

#include "base/characters.h"

namespace kymo::device::cuda {
namespace {

using base::is_space;
using base::is_word;

size_t found_or_end(size_t found, size_t beyond, size_t end) {
  return found == std::string_view::npos ? end : found + beyond;
}

// The position after the literal that begins at `at`.
size_t skip_literal(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// The position after R"tag( … )tag"; `at` is the position of the quote.
size_t skip_raw_literal(std::string_view text, size_t at) {
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos || open - at > 17) return skip_literal(text, at);
  const std::string_view tag = text.substr(at + 1, open - at - 1);
  for (size_t close = text.find(')', open); close != std::string_view::npos; close = text.find(')', close + 1))
    if (text.substr(close + 1, tag.size()) == tag && text.substr(close + 1 + tag.size(), 1) == "\"")
      return close + tag.size() + 2;
  return text.size();
}

// The end of a preprocessor line, continued lines included.
size_t directive_end(std::string_view text, size_t at) {
  for (;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    size_t last = end;
    if (last > at && text[last - 1] == '\r') --last;
    if (last == at || text[last - 1] != '\\') return end;
    at = end + 1;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void read_define(std::string_view line, SourceTokens& into) {
  line = trimmed(line.substr(1));
  if (!line.starts_with("define")) return;
  line = trimmed(line.substr(6));
  size_t name = 0;
  while (name < line.size() && is_word(line[name])) ++name;
  if (name == 0 || name == line.size() || line[name] == '(') return;
  const std::string_view value = trimmed(line.substr(name, line.find("//", name) - name));
  if (!value.empty()) into.defines.emplace_back(line.substr(0, name), value);
}

}  // namespace

SourceTokens split_source(std::string_view text) {
  SourceTokens source;
  bool line_start = true;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_space(c)) {
      line_start |= c == '\n';
      ++at;
      continue;
    }
    if (text.substr(at, 2) == "//") {
      at = found_or_end(text.find('\n', at), 0, text.size());
    } else if (text.substr(at, 2) == "/*") {
      at = found_or_end(text.find("*/", at + 2), 2, text.size());
    } else if (c == '#' && line_start) {
      const size_t end = directive_end(text, at);
      read_define(text.substr(at, end - at), source);
      at = end;
    } else if (c == '"' || c == '\'') {
      const bool raw = c == '"' && !source.tokens.empty() && source.tokens.back().ends_with('R') &&
                       source.tokens.back().end() == text.begin() + static_cast<std::ptrdiff_t>(at);
      at = raw ? skip_raw_literal(text, at) : skip_literal(text, at);
      line_start = false;
    } else {
      size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      if (end == at) end = text.substr(at, 2) == "::" ? at + 2 : at + 1;
      source.tokens.push_back(text.substr(at, end - at));
      at = end;
      line_start = false;
    }
  }
  return source;
}

}  // namespace kymo::device::cuda
