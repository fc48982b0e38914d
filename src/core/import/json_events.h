// Parses the events of a piece of a Chrome trace.
//
//   JsonEvents events;                                     one for each thread; keeps its buffers
//   if (!events.parse(text, size, [&](const JsonEvent& event) { … })) …   not valid JSON
//
// A value of an unexpected type is treated as missing, as in other viewers: a trace with one odd event is still a
// trace. Numbers may be texts. The times in the file are microseconds with decimals; they are converted exactly.
//
// simdjson finds the tokens and checks the encoding. The events are read from its tokens here, because this takes a
// third of the time of its own interface, which looks at every value in several steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::import {

// One event of Chrome's JSON trace format, as its text says it. All views are valid only while the piece of text is.

// A pid, a tid or the id of a flow: a number, or any text.
struct JsonId {
  bool is_text = false;
  int64_t number = 0;
  std::string_view text;

  // Different for all ids. Texts begin with a quote.
  std::string key() const { return is_text ? "\"" + std::string(text) : std::to_string(number); }
};

struct JsonArgument {
  enum class Type : uint8_t { Int, UInt, Double, Bool, String, Json };  // Json: a list or an object, as text
  std::string_view key;
  Type type = Type::Int;
  uint64_t bits = 0;  // Int, UInt, Bool
  double real = 0;
  std::string_view text;
};

struct JsonEvent {
  char phase = 0;  // 0: there is none
  std::string_view name, category;
  JsonId pid, tid;
  std::optional<int64_t> time_ns, duration_ns;
  bool has_bad_duration = false;  // "dur" is not a number, or out of range
  std::optional<JsonId> id;
  bool id_is_local = false;  // to its process: "id2":{"local":…}
  std::string_view scope;    // of an id
  std::vector<JsonArgument> arguments;

  void clear() {
    phase = 0;
    name = category = scope = {};
    pid = tid = {};
    time_ns.reset();
    duration_ns.reset();
    has_bad_duration = false;
    id.reset();
    id_is_local = false;
    arguments.clear();
  }
};

// The numbers of Chrome's JSON traces.

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number with up to 18 digits and nothing else; most numbers are. False: it is another one.
inline bool take_short_number(std::string_view text, int64_t& number) {
  constexpr size_t kMostDigits = 18;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > kMostDigits) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    value = value * 10 + (c - '0');
  }
  number = negative ? -value : value;
  return true;
}

// The type and value of a JSON number.
void read_number(std::string_view text, JsonArgument& argument);

// Microseconds as decimal text, in nanoseconds, rounded. Nothing: it is not a number, or out of range.
std::optional<int64_t> nanoseconds(std::string_view microseconds);

// The same for a point in time: one that is out of range is the nearest that is not.
std::optional<int64_t> time_nanoseconds(std::string_view microseconds);

class JsonEvents {
 public:
  static constexpr size_t kPadding = 64;  // bytes after a text that the parser may read

  JsonEvents();
  ~JsonEvents();

  // `text` is a JSON list of `size` bytes, with kPadding writable bytes after it. False: it is not valid JSON. Events
  // before the bad place may have been visited, so a caller that retries must undo them.
  bool parse(char* text, size_t size, const std::function<void(const JsonEvent&)>& visit);
  bool parse(std::string& text, const std::function<void(const JsonEvent&)>& visit);

  // From now on, ranges ("X") have only the arguments that say where they ran and what they belong to.
  void skip_range_values();

  // One JSON value, for the members of a file. It has views into `text`.
  std::optional<JsonArgument> value(std::string& text);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace kymo::import
