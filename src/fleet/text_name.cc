#include "fleet/text_name.h"

#include <charconv>

#include "base/text.h"
#include "base/utf8.h"

namespace kymo::fleet {
namespace {

constexpr size_t kEscapeLength = 4;  // \xNN

bool is_upper_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); }

bool is_escape(std::string_view text) {
  return text.size() >= kEscapeLength && text[0] == '\\' && text[1] == 'x' && is_upper_hex(text[2]) &&
         is_upper_hex(text[3]);
}

}  // namespace

std::string text_of_name(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  while (!name.empty()) {
    const size_t length = name.front() == '\0' || is_escape(name) ? 0 : base::utf8_length(name);
    if (length == 0)
      base::format_to(text, "\\x{:02X}", static_cast<unsigned char>(name.front()));
    else
      text += name.substr(0, length);
    name.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string name_of_text(std::string_view text) {
  std::string name;
  name.reserve(text.size());
  while (!text.empty()) {
    if (!is_escape(text)) {
      name += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned byte = 0;
    std::from_chars(text.data() + 2, text.data() + kEscapeLength, byte, 16);
    name += static_cast<char>(byte);
    text.remove_prefix(kEscapeLength);
  }
  return name;
}

}  // namespace kymo::fleet
