#include "questions/calls_without_wait.h"

#include <map>

#include "analyze/report/collective_waiting.h"
#include "base/printable.h"
#include "base/text.h"
#include "questions/dialect.h"
#include "questions/text_name.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

using analyze::Waiting;

constexpr size_t kMostNamed = 5, kMostNotes = 5;

struct Calls {
  uint64_t count = 0;
  std::set<std::string> names;
};

std::string names_text(const std::set<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMostNamed)
      return base::format("{} and {} more", base::join(shown, ", "), names.size() - kMostNamed);
    shown.push_back(base::printable(name));
  }
  return base::join(shown, ", ");
}

std::string note_of(const std::string& job, Waiting waiting, const Calls& calls) {
  const std::string what = base::format("not counted: {} {} ({}) of job '{}'", calls.count,
                                        calls.count == 1 ? "call" : "calls", names_text(calls.names), shown_name(job));
  if (waiting == Waiting::Unknown)
    return what +
           ", because the traces do not say which collective it is, and in one with a root (broadcast, reduce, gather, "
           "scatter) ranks do not wait for each other; record the calls of NCCL too, or give the range around the "
           "launch an argument 'Collective name'";
  return what +
         ", because ranks do not wait for each other in sends, receives and calls with a root (broadcast, reduce, "
         "gather, scatter), so these do not show who is late; the job has no other collectives";
}

}  // namespace

std::string calls_without_wait_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT CAST(job AS String) AS its_job, point_to_point AS waiting, CAST(name AS String) AS operation,\n"
      "  count() AS its_calls\n"
      "FROM {}\n{} point_to_point > 0\n{} {}\n  AND numbered = 1 AND rank >= 0\nGROUP BY its_job, waiting, operation\n"
      "ORDER BY its_job, waiting, operation",
      dialect.table(push::kCollectives), dialect.first_where(), dialect.next_where(), chosen(selection, dialect));
}

std::vector<std::string> notes_of_calls_without_wait(const push::Rows& rows,
                                                     const std::set<std::string>& jobs_with_others) {
  if (rows.columns.size() != 4) throw Error("the server's answer is not a list of calls");
  std::map<std::pair<std::string, Waiting>, Calls> all;
  for (const auto& row : rows.rows) {
    const auto waiting = static_cast<Waiting>(push::parse_u64(row[1], rows.columns[1]));
    if (waiting != Waiting::Unknown && jobs_with_others.contains(row[0])) continue;
    Calls& calls = all[{row[0], waiting}];
    calls.count += push::parse_u64(row[3], rows.columns[3]);
    calls.names.insert(row[2].substr(0, row[2].find('(')));  // without the types of its arguments
  }
  std::vector<std::string> notes;
  for (const auto& [key, calls] : all) {
    if (notes.size() == kMostNotes) {
      notes.push_back("calls of more jobs are not counted either: ask for one with --job");
      break;
    }
    notes.push_back(note_of(key.first, key.second, calls));
  }
  return notes;
}

}  // namespace kymo::fleet
