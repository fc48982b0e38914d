// JSON, read: as much as a manifest needs, from text that may be anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::capture {

class JsonValue {
 public:
  // Throws Error, with the place, for text that is not JSON, or is nested deeper than 16.
  static JsonValue parse(std::string_view untrusted);

  // Each throws Error where it is something else; `what` is for the message.
  const std::string& text(std::string_view what) const;
  uint64_t number(std::string_view what) const;  // whole, 0 to 2^64-1
  const std::vector<JsonValue>& list(std::string_view what) const;
  // A member of an object. Throws where there is none.
  const JsonValue& operator[](std::string_view name) const;

 private:
  friend class JsonParser;
  enum class Kind : uint8_t { Other, Text, Number, List, Object };
  Kind kind_ = Kind::Other;  // other: true, false, null
  std::string text_;         // a number's too
  std::vector<JsonValue> items_;
  std::vector<std::string> names_;  // of an object's members
};

// With quotes: controls, quotes and backslashes escaped, and bytes that are not ASCII as they are.
std::string json_quoted(std::string_view text);

}  // namespace kymo::capture
