#include "base/json_writer.h"

#include <cmath>

#include "base/json_text.h"
#include "base/text.h"

namespace kymo::base {

std::string json_string(std::string_view untrusted) {
  TextBuffer text;
  append_json_string(text, untrusted);
  return text.string();
}

void JsonWriter::begin_object() { begin('{'); }

void JsonWriter::begin_array() { begin('['); }

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
  empty_.pop_back();
  if (!was_empty) indent();
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
  if (!first) out_ += layout_ == Layout::OneLine ? ", " : ",";
  indent();
}

void JsonWriter::indent() {
  if (layout_ == Layout::OneLine) return;
  out_ += '\n';
  out_.append(2 * empty_.size(), ' ');
}

}  // namespace kymo::base
