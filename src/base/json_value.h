// JSON, read whole: for small texts from outside (a capture's manifest, a request), which may be anything.
//
// Strict: nothing may follow the value, numbers are written as the standard says, an object names no member twice.
// A value costs about 100 bytes, so that a caller bounds what a text may cost by bounding its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::base {

class JsonValue {
 public:
  // Throws Error, with the place, for text that is not JSON, or is nested deeper than 16.
  static JsonValue parse(std::string_view untrusted);

  // Each throws Error where it is something else; `what` is for the message.
  const std::string& text(std::string_view what) const;
  uint64_t number(std::string_view what) const;  // whole, 0 to 2^64-1
  int64_t integer(std::string_view what) const;  // whole, with a sign or without
  bool boolean(std::string_view what) const;
  const std::vector<JsonValue>& list(std::string_view what) const;
  // A member of an object. Throws where there is none; find() is null there, and where this is no object.
  const JsonValue& operator[](std::string_view name) const;
  const JsonValue* find(std::string_view name) const;
  bool is_object() const { return kind_ == Kind::Object; }

 private:
  friend class JsonParser;
  enum class Kind : uint8_t { Null, False, True, Text, Number, List, Object };
  Kind kind_ = Kind::Null;
  std::string text_;  // a number's too
  std::vector<JsonValue> items_;
  std::vector<std::string> names_;  // of an object's members
};

// With quotes: controls, quotes and backslashes escaped, and bytes that are not ASCII as they are.
std::string json_quoted(std::string_view text);

}  // namespace kymo::base
