#include "base/json_writer.h"

#include <algorithm>
#include <cmath>

#include "base/printable.h"

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

std::string json_string(std::string_view untrusted) {
  TextBuffer text;
  append_json_string(text, untrusted);
  return text.string();
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

void JsonWriter::begin_object() { begin('{'); }

void JsonWriter::begin_array() { begin('['); }

void JsonWriter::begin_line() {
  begin('{');
  line_depth_ = std::min(line_depth_, empty_.size());
}

void JsonWriter::begin_object(std::string_view name) {
  key(name);
  begin('{');
}

void JsonWriter::begin_array(std::string_view name) {
  key(name);
  begin('[');
}

void JsonWriter::value(std::string_view text) { item(json_string(text)); }

void JsonWriter::value(double number) { item(std::isfinite(number) ? format("{}", number) : "null"); }

void JsonWriter::value(bool flag) { item(flag ? "true" : "false"); }

void JsonWriter::json_field(std::string_view name, std::string_view json) {
  key(name);
  separate();
  for (const char c : json.substr(0, json.find_last_not_of(" \n\r\t") + 1)) {
    if (c != '\n')
      out_ += c;
    else  // between its items: in texts it is escaped
      indent();
  }
}

void JsonWriter::key(std::string_view name) {
  separate();
  out_ += json_string(name);
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::item(std::string_view literal) {
  separate();
  out_ += literal;
}

void JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  empty_.push_back(true);
}

void JsonWriter::end(char bracket) {
  const bool was_empty = empty_.back();
  const bool on_line = is_on_line();
  empty_.pop_back();
  if (empty_.size() < line_depth_) line_depth_ = SIZE_MAX;
  if (!was_empty && !on_line) indent();
  out_ += bracket;
}

// Writes the separator between the previous item and the next one.
void JsonWriter::separate() {
  if (after_key_ || empty_.empty()) {
    after_key_ = false;
    return;
  }
  const bool first = empty_.back();
  empty_.back() = false;
  if (!first) out_ += is_on_line() ? ", " : ",";
  indent();
}

void JsonWriter::indent() {
  if (is_on_line()) return;
  out_ += '\n';
  out_.append(2 * empty_.size(), ' ');
}

}  // namespace kymo::base
