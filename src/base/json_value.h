// Reads JSON completely into memory: for small untrusted texts (the manifest of a capture, a request).
//
// Strict: nothing may follow the value, numbers must have the standard form, and an object must not repeat a name. A
// value costs about 100 bytes, so a caller limits the cost of a text by its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::base {

class JsonValue {
 public:
  // Throws Error with the position if the text is not JSON, or is nested deeper than 16.
  static JsonValue parse(std::string_view untrusted);

  // Each throws Error if the value has another type. `what` is for the message.
  const std::string& text(std::string_view what) const;
  uint64_t number(std::string_view what) const;  // an integer, 0 to 2^64-1
  int64_t integer(std::string_view what) const;  // an integer, signed or unsigned
  bool boolean(std::string_view what) const;
  const std::vector<JsonValue>& list(std::string_view what) const;
  // A member of an object. operator[] throws if it is not found. find() returns null then, and also if this is not an
  // object.
  const JsonValue& operator[](std::string_view name) const;
  const JsonValue* find(std::string_view name) const;
  bool is_object() const { return kind_ == Kind::Object; }

 private:
  friend class JsonParser;
  enum class Kind : uint8_t { Null, False, True, Text, Number, List, Object };
  Kind kind_ = Kind::Null;
  std::string text_;  // also for a number
  std::vector<JsonValue> items_;
  std::vector<std::string> names_;  // of an object's members
};

// With quotes. Control characters, quotes and backslashes are escaped; bytes that are not ASCII are unchanged.
std::string json_quoted(std::string_view text);

}  // namespace kymo::base
