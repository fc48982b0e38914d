#include "device/ptx/ptx_tokens.h"

#include "base/characters.h"

namespace kymo::device {
namespace {

bool is_ptx_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

using base::is_space;

// The end of the comment that begins at `at`, or `at` if there is none.
size_t skip_comment(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "//") {
    const size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (text.substr(at, 2) == "/*") {
    const size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at;
}

size_t word_end(std::string_view text, size_t at) {
  size_t end = at;
  if (text[at] == '"') {
    end = text.find('"', at + 1);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  while (end < text.size() && is_ptx_word(text[end])) ++end;
  return end == at ? at + 1 : end;
}

}  // namespace

std::vector<PtxToken> split_ptx(std::string_view text) {
  std::vector<PtxToken> tokens;
  for (size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
    } else if (const size_t after = skip_comment(text, at); after != at) {
      at = after;
    } else {
      const size_t end = word_end(text, at);
      tokens.push_back({text.substr(at, end - at), at});
      at = end;
    }
  }
  return tokens;
}

}  // namespace kymo::device
