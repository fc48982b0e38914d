#include "shader/emit/c_prelude.h"

#include <stdexcept>

namespace kymo::shader {
namespace {

constexpr std::string_view kPieceMark = "//# ";

std::string_view prelude_trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

std::vector<std::string_view> prelude_split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!(text = prelude_trimmed(text)).empty()) {
    const size_t end = text.find(at);
    parts.push_back(prelude_trimmed(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

std::string prelude_replaced(std::string_view text, const std::vector<std::string_view>& words,
                             const std::vector<std::string_view>& by) {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  while (!text.empty()) {
    size_t which = words.size(), at = std::string_view::npos;
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t found = text.find(words[i]);
      if (found < at) {
        at = found;
        which = i;
      }
    }
    result += text.substr(0, at);
    if (which == words.size()) break;
    result += by[which];
    text.remove_prefix(at + words[which].size());
  }
  return result;
}

}  // namespace

CPieces read_pieces(std::string_view file) {
  CPieces pieces;
  for (size_t at = file.find(kPieceMark); at != std::string_view::npos;) {
    const size_t end = file.find(kPieceMark, at + kPieceMark.size());
    std::string_view whole = file.substr(0, end);
    whole.remove_prefix(at + kPieceMark.size());
    const size_t line = whole.find('\n');
    const std::string_view head = whole.substr(0, line);
    const size_t colon = head.find(':');
    CPiece piece;
    piece.words = prelude_split(head.substr(0, colon), ' ');
    if (colon != std::string_view::npos) piece.needs = prelude_split(head.substr(colon + 1), ',');
    piece.text = prelude_trimmed(whole.substr(line));
    const std::string_view name = piece.words.front();
    piece.words.erase(piece.words.begin());
    pieces.emplace(name, std::move(piece));
    at = end;
  }
  return pieces;
}

void CPrelude::use(std::string_view name, const std::vector<std::string_view>& words) {
  std::string key(name);
  for (const std::string_view word : words) (key += ' ') += word;
  if (!used_.insert(std::move(key)).second) return;
  const auto found = pieces_.find(name);
  if (found == pieces_.end() || found->second.words.size() != words.size())
    throw std::logic_error("the prelude has no piece \"" + std::string(name) + "\" of so many words");
  const CPiece& piece = found->second;
  for (const std::string_view needed : piece.needs) {
    const std::string text = prelude_replaced(needed, piece.words, words);
    std::vector<std::string_view> parts = prelude_split(text, ' ');
    const std::string_view other = parts.front();
    parts.erase(parts.begin());
    use(other, parts);
  }
  text_ += prelude_replaced(piece.text, piece.words, words);
  text_ += '\n';
}

}  // namespace kymo::shader
