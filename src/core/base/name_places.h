// The places for arguments in the name of an event, in the notation of Python's str.format: "step {}", "{0} of {1}",
// "loss {:.3f}", "{rows} rows", and "{{" for a brace. Recording and reading use the same code, so that sinks and traces
// show the same text. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::base {

// A part of a text, for code that runs inside other programs. std::string_view::substr can throw, and that alone links
// the C++ library's support for exceptions, which allocates memory in every program.
//
// From `from`, at most `count` characters. Empty if there are none.
constexpr std::string_view text_part(std::string_view text, size_t from,
                                     size_t count = std::string_view::npos) noexcept {
  if (from >= text.size()) return {};
  text.remove_prefix(from);
  if (count < text.size()) text.remove_suffix(text.size() - count);
  return text;
}

// A piece of a name: a text, or a place for an argument.
struct NamePiece {
  enum class Kind : uint8_t {
    Text,
    Next,   // {}: the next argument without a name
    Index,  // {0}: this argument among those without a name
    Named   // {rows}
  };
  Kind kind = Kind::Text;
  std::string_view text;    // the text; of a place: as it is written, which is shown if no argument fills it
  std::string_view name;    // of an argument
  std::string_view format;  // behind the colon
  size_t index = 0;
};

class NamePieces {
 public:
  explicit constexpr NamePieces(std::string_view name) noexcept : rest_(name) {}

  // False at the end of the name.
  constexpr bool next(NamePiece& piece) noexcept {
    if (rest_.empty()) return false;
    piece = {};
    if (rest_.starts_with("{{") || rest_.starts_with("}}")) {
      piece.text = text_part(take(2), 1);
      return true;
    }
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '{' && rest_[end] != '}') ++end;
    if (rest_[0] != '{') {
      piece.text = take(end);
    } else if (end == rest_.size() || rest_[end] == '{') {
      piece.text = take(1);  // a brace that nothing closes
    } else {
      piece.text = take(end + 1);
      describe(piece);
    }
    return true;
  }

 private:
  constexpr std::string_view take(size_t size) noexcept {
    const std::string_view taken = text_part(rest_, 0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  static constexpr void describe(NamePiece& piece) noexcept {
    constexpr size_t kMaxDigits = 4;
    const std::string_view inside = text_part(piece.text, 1, piece.text.size() - 2);
    const size_t colon = inside.find(':');
    if (colon != std::string_view::npos) piece.format = text_part(inside, colon + 1);
    piece.name = text_part(inside, 0, colon);
    piece.kind = NamePiece::Kind::Named;
    if (piece.name.empty()) piece.kind = NamePiece::Kind::Next;
    if (piece.name.empty() || piece.name.size() > kMaxDigits) return;
    for (const char digit : piece.name) {
      if (digit < '0' || digit > '9') return;
      piece.index = piece.index * 10 + static_cast<size_t>(digit - '0');
    }
    piece.kind = NamePiece::Kind::Index;
  }

  std::string_view rest_;
};

inline constexpr size_t kNoArgument = SIZE_MAX;

// The number of the argument that fills this piece, of `count` arguments; kNoArgument: none. `name_of(i)` is the name
// of argument i, and empty if it has none. `next` starts at 0 and counts the places without a name.
template <class NameOf>
constexpr size_t argument_of(const NamePiece& piece, size_t count, NameOf&& name_of, size_t& next) {
  if (piece.kind == NamePiece::Kind::Text) return kNoArgument;
  const bool is_named = piece.kind == NamePiece::Kind::Named;
  size_t skip = is_named ? 0 : piece.kind == NamePiece::Kind::Next ? next++ : piece.index;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = name_of(i);
    if (is_named ? name == piece.name : name.empty() && skip-- == 0) return i;
  }
  return kNoArgument;
}

}  // namespace kymo::base
