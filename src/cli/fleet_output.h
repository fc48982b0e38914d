// What the answers of `kymo fleet` have in common.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "fleet/stragglers.h"

namespace kymo::cli {

enum FleetExit : int { kFine = 0, kSlower = 1, kError = 2, kTooFew = 3 };

// What a person must know about an answer: lines on standard error, and the "notes" of --json.
class Notes {
 public:
  // Something about the data: what is missing, and does not count.
  void warn(const std::string& line);
  // Why there is no answer, or what it means.
  void say(const std::string& line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

// {"rows": [...], "notes": [...], "exit_code": 0}; `write` adds the fields of a row, and `more` those after the rows.
template <typename Rows, typename Write, typename More>
std::string json_of(const Rows& rows, Write&& write, const Notes& notes, int exit_code, More&& more) {
  base::JsonWriter json;
  json.begin_object();
  json.begin_array("rows");
  for (const auto& row : rows) {
    json.begin_object();
    write(json, row);
    json.end_object();
  }
  json.end_array();
  more(json);
  json.begin_array("notes");
  for (const std::string& line : notes.lines()) json.value(line);
  json.end_array();
  json.field("exit_code", exit_code);
  json.end_object();
  return json.text();
}

template <typename Rows, typename Write>
std::string json_of(const Rows& rows, Write&& write, const Notes& notes, int exit_code) {
  return json_of(rows, std::forward<Write>(write), notes, exit_code, [](base::JsonWriter&) {});
}

// Prints up to `limit` of those for which others wait, and returns the exit code, for which all count.
int show_stragglers(fleet::Stragglers stragglers, uint64_t limit, std::optional<double> fail_above, const Notes& notes,
                    bool json);

}  // namespace kymo::cli
