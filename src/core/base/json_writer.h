// Writes JSON: indented by two spaces for reading, or on one line for logs.
//
//   JsonWriter json;
//   json.begin_object();
//   json.field("name", "step {}");
//   json.begin_array("rows");
//   …
//   json.end_array();
//   json.end_object();
//   print(json.text());
//
// Names in a trace are untrusted: quotes and control characters are escaped, and bytes that are not UTF-8 become
// U+FFFD. So the output is always valid. A number that JSON does not have (infinity, NaN) is null.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::base {

class JsonWriter {
 public:
  enum class Layout { Indented, OneLine };
  explicit JsonWriter(Layout layout = Layout::Indented) : layout_(layout) {}

  // Values in an array, or the top-level value.
  void begin_object();
  void begin_array();
  void end_object() { end('}'); }
  void end_array() { end(']'); }
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(double number);
  void value(bool flag);
  template <std::integral Integer>
  void value(Integer number) {
    item(std::to_string(number));
  }

  // Members of an object.
  void begin_object(std::string_view name);
  void begin_array(std::string_view name);
  template <typename Value>
  void field(std::string_view name, const Value& member) {
    key(name);
    value(member);
  }

  // `json` must be a valid value.
  void json_field(std::string_view name, std::string_view json);

  // The finished text, with a line break at its end.
  std::string text() const { return out_ + "\n"; }

 private:
  void key(std::string_view name);
  void item(std::string_view literal);
  void begin(char bracket);
  void end(char bracket);
  void separate();
  void indent();

  Layout layout_;
  std::string out_;
  std::vector<bool> empty_;  // for each open bracket: it has no items yet
  bool after_key_ = false;
};

// With the quotes.
std::string json_string(std::string_view untrusted);

}  // namespace kymo::base
