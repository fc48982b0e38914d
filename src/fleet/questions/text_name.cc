#include "questions/text_name.h"

#include <charconv>

#include "base/printable.h"
#include "base/text.h"

namespace kymo::fleet {
namespace {

constexpr size_t kEscapeLength = 4;  // \xNN
constexpr std::string_view kOnDevice = " (device)", kOnDeviceEscaped = " \\x28device)";

bool is_upper_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); }

bool is_escape(std::string_view text) {
  return text.size() >= kEscapeLength && text[0] == '\\' && text[1] == 'x' && is_upper_hex(text[2]) &&
         is_upper_hex(text[3]);
}

// `keeps`: which characters of valid UTF-8 stay as they are.
template <typename Keeps>
std::string escaped(std::string_view name, Keeps&& keeps) {
  std::string text;
  text.reserve(name.size());
  while (!name.empty()) {
    const size_t length = is_escape(name) ? 0 : base::utf8_length(name);
    const std::string_view character = name.substr(0, length == 0 ? 1 : length);
    if (length > 0 && keeps(character))
      text += character;
    else
      for (const char byte : character) base::format_to(text, "\\x{:02X}", static_cast<unsigned char>(byte));
    name.remove_prefix(character.size());
  }
  return text;
}

}  // namespace

std::string text_of_name(std::string_view name) {
  return escaped(name, [](std::string_view character) { return character.front() != '\0'; });
}

std::string shown_name(std::string_view name) {
  constexpr std::string_view kSpace = "\\x20";
  std::string text = escaped(name, [](std::string_view character) { return base::printable(character) == character; });
  if (text.ends_with(' ')) text.replace(text.size() - 1, 1, kSpace);
  if (text.starts_with(' ')) text.replace(0, 1, kSpace);
  return text;
}

std::string operation_text(std::string_view name, bool on_device) {
  std::string text = shown_name(name);
  if (on_device) return text + std::string(kOnDevice);
  if (!text.ends_with(kOnDevice)) return text;
  return text.substr(0, text.size() - kOnDevice.size()) + std::string(kOnDeviceEscaped);
}

Operation parse_operation(std::string_view text) {
  const bool only_on_device = text.ends_with(kOnDevice);
  if (only_on_device) text.remove_suffix(kOnDevice.size());
  return {name_of_text(text), only_on_device};
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
