#include "shader/parse/literals.h"

namespace kymo::shader {

namespace {

int literals_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

constexpr std::string_view kEscapeLetters = "abfnrtv\\'\"?";
constexpr std::string_view kEscapeValues = "\a\b\f\n\r\t\v\\'\"?";

}  // namespace

bool append_unescaped(std::string_view content, std::string& into) {
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] != '\\') {
      into += content[i];
      continue;
    }
    if (++i == content.size()) return false;
    if (const size_t known = kEscapeLetters.find(content[i]); known != std::string_view::npos) {
      into += kEscapeValues[known];
      continue;
    }
    const bool is_hex = content[i] == 'x';
    const int base = is_hex ? 16 : 8;
    if (is_hex) ++i;
    int value = 0;
    size_t digits = 0;
    for (; i < content.size() && literals_digit(content[i]) < base && (is_hex || digits < 3); ++i, ++digits) {
      value = (value * base + literals_digit(content[i])) & 0xff;
    }
    if (digits == 0) return false;
    into += static_cast<char>(value);
    --i;
  }
  return true;
}

}  // namespace kymo::shader
