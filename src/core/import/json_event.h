// One event of Chrome's JSON trace format, as its text says it. All views are valid only while the piece of text is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::import {

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

}  // namespace kymo::import
