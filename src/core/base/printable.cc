#include "base/printable.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "base/utf8.h"

namespace kymo::base {
namespace {

using namespace std::string_view_literals;

// One character: a code point, or a byte that is not part of a valid one. take_character removes it from the front of
// `rest`, which must not be empty.
struct Character {
  std::string_view bytes;
  bool valid;
};

Character take_character(std::string_view& rest) {
  const size_t length = utf8_length(rest);
  const Character character{rest.substr(0, std::max<size_t>(length, 1)), length > 0};
  rest.remove_prefix(character.bytes.size());
  return character;
}

// Control characters, and characters that reorder or break the line: U+2028 to U+202E and U+2066 to U+2069.
bool drives_the_terminal(std::string_view character) {
  const auto byte = static_cast<uint8_t>(character.front());
  if (character.size() == 1) return byte < 0x20 || byte == 0x7F;
  return (character >= "\xC2\x80"sv && character <= "\xC2\x9F"sv) ||
         (character >= "\xE2\x80\xA8"sv && character <= "\xE2\x80\xAE"sv) ||
         (character >= "\xE2\x81\xA6"sv && character <= "\xE2\x81\xA9"sv);
}

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  std::string text;
  for (const char byte : bytes) text += format("\\x{:02x}", static_cast<uint8_t>(byte));
  return text;
}

}  // namespace

std::string printable(std::string_view untrusted) {
  std::string text;
  text.reserve(untrusted.size());
  while (!untrusted.empty()) {
    const Character character = take_character(untrusted);
    const bool harmless = character.valid && !drives_the_terminal(character.bytes);
    text += harmless ? std::string(character.bytes) : escaped(character.bytes);
  }
  return text;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (; !text.empty(); ++width) take_character(text);
  return width;
}

std::string shorten(std::string_view text, size_t width, std::string_view ellipsis) {
  if (display_width(text) <= width) return std::string(text);
  const size_t kept = width - std::min(width, display_width(ellipsis));
  std::string_view rest = text;
  for (size_t i = 0; i < kept; ++i) take_character(rest);
  return std::string(text.substr(0, text.size() - rest.size())).append(width == 0 ? "" : ellipsis);
}

std::string shorten_front(std::string_view text, size_t width, std::string_view ellipsis) {
  const size_t whole = display_width(text);
  if (whole <= width) return std::string(text);
  const size_t kept = width - std::min(width, display_width(ellipsis));
  for (size_t i = 0; i < whole - kept; ++i) take_character(text);
  return std::string(width == 0 ? "" : ellipsis).append(text);
}

std::string shorten_middle(std::string_view text, size_t width, std::string_view ellipsis) {
  if (display_width(text) <= width) return std::string(text);
  const size_t end = width / 3;
  return shorten(text, width - end, ellipsis) + shorten_front(text, end, "");
}

}  // namespace kymo::base
