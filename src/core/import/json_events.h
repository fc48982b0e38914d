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

#include "import/json_event.h"

namespace kymo::import {

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
