#define FMT_HEADER_ONLY
#include "base/text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text_buffer.h"

namespace kymo::base {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

void append_arguments(std::string& out, fmt::string_view format, fmt::format_args arguments) {
  fmt::vformat_to(std::back_inserter(out), format, arguments);
}

void append_arguments(TextBuffer& out, fmt::string_view format, fmt::format_args arguments) {
  fmt::memory_buffer text;
  fmt::vformat_to(std::back_inserter(text), format, arguments);
  out.append({text.data(), text.size()});
}

void append_shortest(TextBuffer& out, double number) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "{}", number);
  out.append({text.data(), text.size()});
}

std::string hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace kymo::base
