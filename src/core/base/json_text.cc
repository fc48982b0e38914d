#include "base/json_text.h"

#include <cmath>
#include <cstdint>

#include "base/text.h"
#include "base/utf8.h"

namespace kymo::base {

namespace {

bool is_plain(unsigned char byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

// Removes one character that needs escaping from the front of `text` and appends it to `out`.
void append_escaped(TextBuffer& out, std::string_view& text) {
  const auto byte = static_cast<unsigned char>(text.front());
  size_t taken = 1;
  switch (byte) {
    case '"':
      append(out, "\\\"");
      break;
    case '\\':
      append(out, "\\\\");
      break;
    case '\n':
      append(out, "\\n");
      break;
    case '\r':
      append(out, "\\r");
      break;
    case '\t':
      append(out, "\\t");
      break;
    default:
      if (byte < 0x20) {
        append(out, byte < 0x10 ? "\\u000" : "\\u00");
        out.append_number(byte, 16);
      } else if (const size_t length = utf8_length(text); length != 0) {
        append(out, text.substr(0, length));
        taken = length;
      } else {
        append(out, kReplacementCharacter);
      }
  }
  text.remove_prefix(taken);
}

}  // namespace

void append_json_string(TextBuffer& out, std::string_view untrusted) {
  out.push_back('"');
  while (!untrusted.empty()) {
    size_t plain = 0;
    while (plain < untrusted.size() && is_plain(static_cast<unsigned char>(untrusted[plain]))) ++plain;
    append(out, untrusted.substr(0, plain));
    untrusted.remove_prefix(plain);
    if (!untrusted.empty()) append_escaped(out, untrusted);
  }
  out.push_back('"');
}

std::string json_quoted(std::string_view untrusted) {
  TextBuffer out;
  append_json_string(out, untrusted);
  return out.string();
}

void append_json_number(TextBuffer& out, double number) {
  if (std::isfinite(number)) {
    append_shortest(out, number);
  } else {
    append(out, std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  }
}

void append_json_address(TextBuffer& out, uint64_t address) {
  append(out, "\"0x");
  out.append_number(address, 16);
  out.push_back('"');
}

TextBuffer& JsonObject::key(std::string_view name) {
  append(out_, empty_ ? "\"" : ",\"");
  empty_ = false;
  append(out_, name);
  append(out_, "\":");
  return out_;
}

TextBuffer& JsonObject::escaped_key(std::string_view quoted_with_colon) {
  if (!empty_) out_.push_back(',');
  empty_ = false;
  append(out_, quoted_with_colon);
  return out_;
}

}  // namespace kymo::base
