#include "base/printable.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace kymo::base {

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool too_large = lead == 0xF4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

std::string_view valid_utf8(std::string_view untrusted, std::string& buffer) {
  size_t valid = 0;
  while (valid < untrusted.size()) {
    const size_t length = utf8_length(untrusted.substr(valid));
    if (length == 0) break;
    valid += length;
  }
  if (valid == untrusted.size()) return untrusted;

  buffer.assign(untrusted.substr(0, valid));
  for (std::string_view rest = untrusted.substr(valid); !rest.empty();) {
    const size_t length = utf8_length(rest);
    buffer += length == 0 ? kReplacementCharacter : rest.substr(0, length);
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return buffer;
}

std::string readable_text(std::string_view untrusted) {
  std::string buffer, text;
  const std::string_view valid = valid_utf8(untrusted, buffer);
  text.reserve(valid.size());
  for (const char c : valid) {
    if (c == '\0')
      text += kReplacementCharacter;
    else
      text.push_back(c);
  }
  return text;
}

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
  if (character.size() == 1) return is_control(character.front());
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

std::string without_controls(std::string_view untrusted, char replacement) {
  std::string text(untrusted);
  std::ranges::replace_if(text, is_control, replacement);
  return text;
}

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
