#include "base/utf8.h"

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

}  // namespace kymo::base
