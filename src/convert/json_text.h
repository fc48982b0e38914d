// JSON, appended to a buffer. What comes out is valid whatever went in: a trace's texts and numbers are untrusted.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/text_buffer.h"
#include "trace/reader.h"

namespace kymo::convert {

using base::TextBuffer;

inline void append(TextBuffer& out, std::string_view text) { out.append(text); }

inline void append_integer(TextBuffer& out, uint64_t number) { out.append_number(number); }

// With the quotes. Quotes, backslashes and control characters are escaped; a byte that is not part of valid UTF-8
// becomes U+FFFD.
void append_json_string(TextBuffer& out, std::string_view untrusted);

// The shortest text that reads back the same; "NaN", "Infinity" and "-Infinity" as strings, which JSON has no numbers
// for.
void append_json_number(TextBuffer& out, double number);

// The string "0x…".
void append_json_address(TextBuffer& out, uint64_t address);

// Integers as numbers, a pointer as the string "0x…".
void append_json_value(TextBuffer& out, const trace::ValueCursor::Value& value);

// An object and an array under construction: they put the brackets and commas, the caller appends the values.
class JsonObject {
 public:
  explicit JsonObject(TextBuffer& out) : out_(out) { out_.push_back('{'); }
  // `name` needs no escaping.
  TextBuffer& key(std::string_view name);
  TextBuffer& escaped_key(std::string_view quoted_with_colon);
  void close() { out_.push_back('}'); }

 private:
  TextBuffer& out_;
  bool empty_ = true;
};

// One item a line.
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

}  // namespace kymo::convert
