// Reads JSON: for small untrusted texts (the manifest of a capture, a request of dyno).
//
//   const json::Document document(text);
//   const uint64_t version = document.root()["version"].number("version");
//
// Strict: the whole text is checked at once, nothing may follow the value, texts are valid UTF-8, an object does not
// repeat a name (unless the caller allows it), and integers fit into 64 bits. A document needs about ten times the
// memory of its text, so a caller limits the cost by the length of the text.
//
// Uses RapidJSON, which is headers only: a command that reads a little JSON loads no library for it. Only document.cc
// includes it. Large traces are read by simdjson (import/json_events.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::json {

inline constexpr size_t kDeepest = 16;            // lists and objects inside each other
inline constexpr size_t kLongestText = 64 << 20;  // bytes

// A value in a document. Valid as long as the document. The functions throw Error if the value has another type; `what`
// is for the message.
class Value {
 public:
  std::string_view text(std::string_view what) const;
  uint64_t number(std::string_view what) const;  // an integer, 0 to 2^64-1
  int64_t integer(std::string_view what) const;  // an integer, -2^63 to 2^63-1
  bool boolean(std::string_view what) const;
  std::vector<Value> list(std::string_view what) const;
  std::vector<std::pair<std::string_view, Value>> members(std::string_view what) const;  // of an object, in order
  // A member of an object; the last one if the name is repeated. operator[] throws if it is not found. find() returns
  // nothing then, and also if this is not an object.
  Value operator[](std::string_view name) const;
  std::optional<Value> find(std::string_view name) const;

 private:
  friend class Document;
  struct Access;
  const void* value_ = nullptr;  // of RapidJSON
};

enum class RepeatedNames : uint8_t { Refuse, LastCounts };

class Document {
 public:
  // Throws Error if the text is not JSON, is longer than kLongestText, or is nested deeper than kDeepest.
  explicit Document(std::string_view untrusted, RepeatedNames repeated = RepeatedNames::Refuse);
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  Value root() const { return root_; }

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
  Value root_;
};

}  // namespace kymo::json
