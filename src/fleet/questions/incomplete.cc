#include "questions/incomplete.h"

#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "push/store.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

// A number of the only row. The sum of nothing may be nothing.
uint64_t sum_in(const push::Rows& rows, size_t column) {
  if (rows.rows.size() != 1) throw Error("the server's answer is not one row");
  const std::string& text = rows.rows[0].at(column);
  return text.empty() ? 0 : push::parse_u64(text, rows.columns[column]);
}

}  // namespace

void refuse_other_tables(const Target& target) {
  if (!has_tables(target))
    throw Error(base::format("{0} has no tables of Kymo: 'kymo push FILE... {0}' makes them", target.text()));
  const push::Rows rows =
      ask(target, base::format("SELECT max(version) AS version FROM {}", Dialect(target).table(push::kSchema)));
  push::refuse_other_version(sum_in(rows, 0), target.text());
}

CountedTraces count_traces(const Selection& selection) {
  const push::Rows rows = ask(selection.target, traces_statement(selection));
  push::expect_columns(rows, 3);
  CountedTraces found;
  for (const auto& row : rows.rows) {
    const uint64_t traces = push::parse_u64(row[1], "traces"), recordings = push::parse_u64(row[2], "recordings");
    if (row[0] == "0") {
      found.incomplete = traces;
    } else {
      found.counted = recordings;
      found.copies = traces - std::min(traces, recordings);
    }
  }
  return found;
}

std::vector<std::string> CountedTraces::lines() const {
  std::vector<std::string> lines;
  if (incomplete > 0)
    lines.push_back(base::format(
        "not counted: {}, because the recording or the file was cut off or is damaged: push complete files",
        base::count_of(incomplete, "incomplete trace")));
  if (copies > 0)
    lines.push_back(base::format("not counted: {}, because another file of the same recording counts",
                                 base::count_of(copies, "trace")));
  return lines;
}

std::vector<std::string> leave_out_whole_traces(Selection& selection) {
  const push::Rows rows = ask(selection.target, iterations_statement(selection));
  push::expect_columns(rows, 2);
  const uint64_t with = sum_in(rows, 0), without = sum_in(rows, 1);
  selection.only_iterations = with > 0 && without > 0;
  if (!selection.only_iterations) return {};
  return {
      base::format("not compared: {} without iterations, because {} some: mark iterations in each program, or give "
                   "traces of another program their own --job",
                   base::count_of(without, "trace"), with == 1 ? "1 other has" : base::format("{} others have", with))};
}

TimesOfTop times_of_top(const Selection& selection) {
  const push::Rows rows = ask(selection.target, times_statement(selection));
  push::expect_columns(rows, 3);
  TimesOfTop times;
  for (const auto& row : rows.rows) {
    const std::string& part = row[0];
    const uint64_t ns = row[1].empty() ? 0 : push::parse_u64(row[1], rows.columns[1]);  // the sum of nothing
    if (part == push::kOutside) times.traces_outside = push::parse_u64(row[2], rows.columns[2]);
    (part.empty()              ? times.iterations_ns
     : part == push::kOutside  ? times.outside_ns
     : part == "compute"       ? times.compute_ns
     : part == "communication" ? times.communication_ns
     : part == "copies"        ? times.copies_ns
                               : times.idle_ns) += ns;
  }
  return times;
}

std::vector<std::string> TimesOfTop::lines() const {
  constexpr uint64_t kMentioned = 100;  // work that began in an iteration may end after it
  if (outside_ns <= (outside_ns + compute_ns + communication_ns + copies_ns) / kMentioned) return {};
  return {
      base::format("not counted: {} of work on devices that was launched outside of iterations, in {}; kymo stats FILE "
                   "has all of it",
                   base::duration_text(outside_ns), base::count_of(traces_outside, "trace"))};
}

}  // namespace kymo::fleet
