// Parses the events of a piece of a Chrome trace.
//
//   JsonEvents events;                                     one for each thread; keeps its buffers
//   if (!events.parse(piece.text, [&](const JsonEvent& event) { … })) …   not valid JSON
//
// A value of an unexpected type is treated as missing, as in other viewers: a trace with one odd event is still a
// trace. Numbers may be texts. The times in the file are microseconds with decimals; they are converted exactly.
#pragma once

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
  JsonEvents();
  ~JsonEvents();

  // `text` is a JSON list. Its capacity may grow, because the parser reads beyond its end. False: it is not valid JSON.
  // Events before the bad place may have been visited, so a caller that retries must undo them or visit a copy.
  bool parse(std::string& text, const std::function<void(const JsonEvent&)>& visit);

  // One JSON value, for the members of a file.
  std::optional<JsonArgument> value(std::string& text);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// Microseconds as decimal text, in nanoseconds, rounded. Nothing: it is not a number, or out of range.
std::optional<int64_t> nanoseconds(std::string_view microseconds);

}  // namespace kymo::import
