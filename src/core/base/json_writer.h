// Writes JSON. The output is valid for any input: texts and numbers of a trace are untrusted. Quotes and control
// characters are escaped, and bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace kymo::base {

inline void append(TextBuffer& out, std::string_view text) { out.append(text); }

inline void append_integer(TextBuffer& out, uint64_t number) { out.append_number(number); }

// With the quotes. Quotes, backslashes and control characters are escaped; a byte that is not part of valid UTF-8
// becomes U+FFFD.
void append_json_string(TextBuffer& out, std::string_view untrusted);
std::string json_string(std::string_view untrusted);

// The shortest text that gives the same number when read. "NaN", "Infinity" and "-Infinity" are strings, because JSON
// has no such numbers.
void append_json_number(TextBuffer& out, double number);

// The string "0x…".
void append_json_address(TextBuffer& out, uint64_t address);

// Builders for an object and an array: they add the brackets and commas, the caller appends the values.
class JsonObject {
 public:
  explicit JsonObject(TextBuffer& out) : out_(out) { out_.push_back('{'); }
  // `name` must not need escaping.
  TextBuffer& key(std::string_view name);
  TextBuffer& escaped_key(std::string_view quoted_with_colon);
  void close() { out_.push_back('}'); }

 private:
  TextBuffer& out_;
  bool empty_ = true;
};

// One item per line.
class JsonArray {
 public:
  explicit JsonArray(TextBuffer& out) : out_(out) { out_.push_back('['); }
  TextBuffer& next() {
    append(out_, empty_ ? "\n" : ",\n");
    empty_ = false;
    return out_;
  }
  void close() { append(out_, empty_ ? "]" : "\n]"); }

 private:
  TextBuffer& out_;
  bool empty_ = true;
};

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
// A number that JSON does not have (infinity, NaN) is null.
class JsonWriter {
 public:
  enum class Layout { Indented, OneLine };
  explicit JsonWriter(Layout layout = Layout::Indented) : layout_(layout) {}

  // Values in an array, or the top-level value.
  void begin_object();
  void begin_array();
  void begin_line();  // an object on one line, for tables: each row is a line
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

  // A whole object or array. `write` adds its members or its items. With `items` it is called for each of them, and a
  // number of items stands for 0, 1, …
  template <std::invocable Write>
  void object(Write&& write) {
    begin_object();
    write();
    end_object();
  }
  template <std::invocable Write>
  void object(std::string_view name, Write&& write) {
    key(name);
    object(write);
  }
  template <typename Items, typename Write>
  void array(std::string_view name, const Items& items, Write&& write) {
    begin_array(name);
    if constexpr (std::integral<Items>) {
      for (Items i = 0; i < items; ++i) write(i);
    } else {
      for (const auto& item : items) write(item);
    }
    end_array();
  }
  // Each item is a value, or an object whose members `write` adds.
  template <typename Items>
  void values(std::string_view name, const Items& items) {
    array(name, items, [this](const auto& item) { this->value(item); });
  }
  template <typename Items, typename Write>
  void objects(std::string_view name, const Items& items, Write&& write) {
    array(name, items, [&](const auto& item) { object([&] { write(item); }); });
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
  bool is_on_line() const { return layout_ == Layout::OneLine || empty_.size() >= line_depth_; }

  Layout layout_;
  std::string out_;
  std::vector<bool> empty_;       // for each open bracket: it has no items yet
  size_t line_depth_ = SIZE_MAX;  // the number of open brackets from which on everything is on one line
  bool after_key_ = false;
};

}  // namespace kymo::base
