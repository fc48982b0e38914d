// Appends JSON to a buffer. The output is valid for any input: texts and numbers of a trace are untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text_buffer.h"

namespace kymo::base {

inline void append(TextBuffer& out, std::string_view text) { out.append(text); }

inline void append_integer(TextBuffer& out, uint64_t number) { out.append_number(number); }

// With the quotes. Quotes, backslashes and control characters are escaped; a byte that is not part of valid UTF-8
// becomes U+FFFD.
void append_json_string(TextBuffer& out, std::string_view untrusted);
std::string json_quoted(std::string_view untrusted);

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

}  // namespace kymo::base
