// What the answers of `kymo fleet` have in common.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "questions/answers.h"
#include "questions/statements.h"
#include "questions/stragglers.h"

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

// Which traces a question of `kymo fleet` is about, and what to say about those that it is not about.

inline constexpr const char* kNoIterations =
    "these traces have no iterations: a program marks them with ranges that it repeats, or with kymo::step()";

// For a question about one job: chooses the only one of this time if none is given. Throws kymo::Error with their names
// if there are several.
void choose_job(fleet::Selection& selection, const std::string& question);

// Says which traces do not count because of their time: in the future, or unknown.
void warn_of_other_times(const fleet::Selection& selection, Notes& notes);

// Says why a selection has no traces: false if it has some. After warn_of_other_times().
bool say_nothing_found(const fleet::Selection& selection, Notes& notes);

// Says which ranks are not compared.
void warn_of_other_ranks(const fleet::DiffRanks& ranks, Notes& notes);

// Says if there are few samples because a rank has less than half of the minutes of another one.
void warn_of_few_samples(const fleet::DiffRanks& ranks, Notes& notes);

// Says why there is nothing to compare. `middle`: where B begins, in seconds since 1970.
void say_empty_sides(const fleet::Selection& selection, const fleet::DiffRanks& ranks, int64_t middle, Notes& notes);

}  // namespace kymo::cli
