#include "import/json_repair.h"

#include <array>

#include "base/text.h"
#include "base/utf8.h"

namespace kymo::import {
namespace {

// Not JSON, but written by programs that print floating-point numbers as they are.
constexpr std::array<std::string_view, 9> kNotNumbers = {"-Infinity", "+Infinity", "Infinity", "-NaN", "NaN",
                                                         "-nan",      "nan",       "-inf",     "inf"};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

size_t not_a_number(std::string_view text) {
  for (const std::string_view name : kNotNumbers)
    if (text.starts_with(name)) return name.size();
  return 0;
}

}  // namespace

std::string repaired_json(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  bool in_text = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (in_text) {
      const size_t length = base::utf8_length(text.substr(at));
      if (length == 0) {
        out += base::kReplacementCharacter;
        ++at;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out += base::format("\\u{:04x}", static_cast<unsigned char>(c));
        ++at;
      } else if (c == '\\' && at + 1 < text.size()) {
        out.append(text, at, 2);
        at += 2;
      } else {
        in_text = c != '"';
        out.append(text, at, length);
        at += length;
      }
      continue;
    }
    if (const size_t length = not_a_number(text.substr(at)); length != 0) {
      out += "null";
      at += length;
      continue;
    }
    if (c == ',') {  // not before a closing bracket
      size_t next = at + 1;
      while (next < text.size() && (is_blank(text[next]) || text[next] == ',')) ++next;
      if (next < text.size() && (text[next] == ']' || text[next] == '}')) {
        at = next;
        continue;
      }
    }
    in_text = c == '"';
    if (static_cast<unsigned char>(c) < 0x80) out += c;
    ++at;
  }
  return out;
}

}  // namespace kymo::import
