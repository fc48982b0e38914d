#include "questions/incomplete.h"

#include <initializer_list>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "questions/answers.h"
#include "questions/dialect.h"
#include "questions/parquet_check.h"
#include "questions/parquet_files.h"
#include "questions/parts.h"
#include "push/attempt.h"

namespace kymo::fleet {
namespace {

push::Rows as_list(push::Rows rows) {
  if (rows.columns.size() != 2) throw Error("the server's answer is not a list of traces");
  return rows;
}

push::Rows list_of(const Target& target, const std::string& statement) { return as_list(ask(target, statement)); }

// A column of the only row. The sum of nothing may be nothing.
uint64_t sum_in(const push::Rows& rows, size_t column) {
  const std::string& text = rows.rows[0][column];
  return text.empty() ? 0 : push::parse_u64(text, rows.columns[column]);
}

// How many servers have each table of the database.
std::map<std::string, uint64_t> servers_of_tables(const Target& target) {
  const push::Address& address = *target.server;
  const push::Rows rows =
      ask(target, base::format("SELECT name, count() AS servers FROM {} WHERE database = {} GROUP BY name",
                               address.cluster.empty()
                                   ? std::string("system.tables")
                                   : base::format("cluster({}, system, tables)", push::quoted_text(address.cluster)),
                               push::quoted_text(address.database)));
  if (rows.columns.size() != 2) throw Error("the server's answer is not a list of tables");
  std::map<std::string, uint64_t> servers;
  for (const auto& row : rows.rows) servers[row[0]] = push::parse_u64(row[1], "servers");
  return servers;
}

// The tables that there are. A server is asked once for all of them.
class Tables {
 public:
  explicit Tables(const Target& target) : target_(target) {
    if (target.server) servers_ = servers_of_tables(target);
  }

  // True if a server, or the folder, has operations and not this table.
  bool lacks(const push::TableSpec& table) {
    if (!target_.server) return has_files(target_.folder, push::kOperations) && !has_files(target_.folder, table);
    return count(table) < count(push::kOperations);
  }

  uint64_t count(const push::TableSpec& table) { return servers_[std::string(table.name)]; }  // servers that have it

 private:
  const Target& target_;
  std::map<std::string, uint64_t> servers_;
};

// `rows` have traces, which then do not count. A statement has a limited length.
void leave_out(Selection& selection, const push::Rows& rows) {
  constexpr size_t kMostLeftOut = 1'000;
  for (const auto& row : rows.rows) selection.without.push_back(push::parse_u64(row[0], "trace"));
  if (selection.without.size() > kMostLeftOut)
    throw Error(
        base::format("{} has {} traces twice, which are more than can be left out: remove what was restored twice, "
                     "remove copies with kymo push --remove, or use a shorter --since",
                     selection.target.text(), selection.without.size()));
}

// Of the rows, those with other traces than `others`.
push::Rows without_traces(push::Rows rows, const push::Rows& others) {
  std::set<std::string> left_out;
  for (const auto& row : others.rows) left_out.insert(row[0]);
  std::erase_if(rows.rows, [&](const auto& row) { return left_out.contains(row[0]); });
  return rows;
}

// Columns: trace, its_job, counts (1: an older attempt does), older_job. Traces of a server whose newest attempt has
// counts of rows and no mark. With a job, those that have it in this attempt, or in the one that counts instead.
std::string unmarked_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  const std::string times = times_of(selection, dialect);
  std::string of_job;
  if (selection.job) of_job = base::format("\n  AND (its_job = {0} OR older_job = {0})", dialect.text(*selection.job));
  return base::format(
      "SELECT trace, argMax(counted_job, counted) AS its_job, max(marked) > 0 AS counts,\n"
      "  argMax(marked_job, marked) AS older_job\nFROM (\n"
      "  SELECT trace, attempt AS counted, CAST(job AS String) AS counted_job, toUInt64(0) AS marked, '' AS "
      "marked_job\n"
      "  FROM {} WHERE {} AND attempt < {}\n"
      "  UNION ALL SELECT trace, toUInt64(0) AS counted, '' AS counted_job, attempt AS marked, CAST(job AS String) AS "
      "marked_job\n"
      "  FROM {} WHERE {})\nGROUP BY trace\nHAVING max(counted) > max(marked){}\nORDER BY trace",
      dialect.table(push::kRowCounts), times, push::unmarked_before(), dialect.table(push::kTraces), times, of_job);
}

void add_unmarked(std::vector<std::string>& lines, const Selection& selection, push::Rows rows) {
  if (rows.columns.size() != 4) throw Error("the server's answer is not a list of traces without a mark");
  if (rows.rows.empty()) return;
  std::set<std::string> older;
  for (auto& row : rows.rows) {
    row[1] = "job " + shown_name(row[1]);
    if (row[2] != "0") older.insert(shown_name(row[3]));
  }
  lines.push_back(
      base::format("not counted: what was pushed last of {} trace{} without a commit mark in {} (a push that was "
                   "interrupted, or lost rows): {}; push {} again{}",
                   rows.rows.size(), rows.rows.size() == 1 ? "" : "s", selection.target.text(), trace_names(rows),
                   rows.rows.size() == 1 ? "it" : "them", counts_until_then(older)));
}

void add_wrong_counts(std::vector<std::string>& lines, Selection& selection, bool uses_operations) {
  const Target& target = selection.target;
  Tables there(target);
  const bool has_counts = !there.lacks(push::kRowCounts);
  const bool has_tables =
      has_counts && (uses_operations || (!there.lacks(push::kCollectives) && !there.lacks(push::kRuns)));
  std::vector<const push::TableSpec*> tables{&push::kIterations, &push::kOperations};
  if (!uses_operations) tables = {&push::kIterations, &push::kCollectives, &push::kRuns};
  std::vector<std::string> statements{lost_rows_statement(selection, uses_operations)};
  if (has_counts) statements.push_back(unmarked_statement(selection));
  if (has_tables) statements.push_back(wrong_counts_statement(selection, tables, WrongCounts::Any));
  const std::vector<push::Rows> answers = ask_all(target, statements);
  push::Rows missing = as_list(answers[0]), doubled;
  if (has_tables) {
    const push::Rows wrong = as_list(answers[2]);
    if (!wrong.rows.empty()) doubled = list_of(target, wrong_counts_statement(selection, tables, WrongCounts::TooMany));
    const push::Rows counted = without_traces(without_traces(wrong, missing), doubled);
    missing.rows.insert(missing.rows.end(), counted.rows.begin(), counted.rows.end());
  }
  if (!missing.rows.empty())
    lines.push_back(base::format("incomplete: {}; some of their rows are missing in {}: push these traces again",
                                 trace_names(missing), target.text()));
  if (!doubled.rows.empty())
    lines.push_back(base::format(
        "not counted: {}; some of their rows are doubled in {}, as after a backup that was restored twice: "
        "push these traces again",
        trace_names(doubled), target.text()));
  if (has_counts) add_unmarked(lines, selection, answers[1]);
  leave_out(selection, doubled);
}

// Throws if a server lacks one of these tables. A dropped one would only be an error of the server.
void refuse_lost_tables(const Target& target, Tables& there, std::initializer_list<const push::TableSpec*> tables) {
  const uint64_t expected = there.count(push::kSchema);
  if (expected == 0)
    throw Error(
        base::format("{0} has no table {1}: 'kymo push FILE... {0}' makes the tables; a database of Distributed "
                     "tables needs {1} too",
                     target.text(), push::kSchema.name));
  for (const push::TableSpec* table : tables) {
    const uint64_t found = there.count(*table);
    if (found >= expected) continue;
    throw Error(
        base::format("{0} has no table {1}{2}: it was dropped, and its rows are lost; 'kymo push' of the traces {3} "
                     "makes it and writes them again; a database of Distributed tables needs it too",
                     target.text(), table->name,
                     expected > 1 ? base::format(" on {} of {} servers", expected - found, expected) : "",
                     expected > 1 ? "to each server" : "there"));
  }
}

}  // namespace

void refuse_newer_version(const Target& target) {
  if (!target.server && !has_files(target.folder, push::kSchema)) return;  // ask() says what is missing there
  Tables there(target);
  if (target.server) refuse_lost_tables(target, there, {&push::kTraces, &push::kIterations, &push::kOperations});
  const push::Rows rows = ask(target, version_statement(target));
  if (rows.rows.size() != 1 || rows.columns.size() != 1) throw Error("the server's answer is not a version");
  const std::string& text = rows.rows[0][0];
  const uint64_t version = text.empty() ? 0 : push::parse_u64(text, "version");
  if (version > push::kSchemaVersion)
    throw Error(base::format("{}: the tables have version {}, and this kymo knows version {}: update kymo",
                             target.text(), version, push::kSchemaVersion));
  // Without the counts, rows that are lost would not be noticed.
  constexpr uint64_t kFirstWithCounts = 3;
  if (target.server && version >= kFirstWithCounts) refuse_lost_tables(target, there, {&push::kRowCounts});
}

std::vector<std::string> check_rows(Selection& selection, bool uses_operations) {
  if (!selection.target.server) return incomplete_traces(*selection.target.reader);
  std::vector<std::string> lines;
  add_wrong_counts(lines, selection, uses_operations);
  return lines;
}

std::vector<std::string> leave_out_copies(Selection& selection) {
  const Target& target = selection.target;
  std::vector<std::string> lines;
  const Parts parts =
      find_parts(ask(target, same_recordings_statement(selection)),
                 [&](const std::vector<uint64_t>& traces) { return ask(target, totals_statement(selection, traces)); });
  leave_out(selection, parts.of_others);
  leave_out(selection, parts.copies);
  if (!parts.of_others.rows.empty())
    lines.push_back(base::format("not counted: {}; a complete trace of the same recording is in {} too",
                                 trace_names(parts.of_others), target.text()));
  if (!parts.copies.rows.empty())
    lines.push_back(
        base::format("not counted: {}; another file of the same recording is in {} too, and counts: remove copies with "
                     "kymo push --remove",
                     trace_names(parts.copies), target.text()));
  if (!parts.alone.rows.empty())
    lines.push_back(
        base::format("incomplete, but counted: {}; the recording or its file was cut off, is damaged, or has several "
                     "ranks (complete = 0): "
                     "push the complete file, or remove such a trace with kymo push --remove",
                     trace_names(parts.alone)));
  return lines;
}

std::vector<std::string> leave_out_whole_traces(Selection& selection) {
  const push::Rows rows = ask(selection.target, iterations_statement(selection));
  if (rows.rows.size() != 1 || rows.columns.size() != 2) throw Error("the server's answer is not about iterations");
  const uint64_t with = sum_in(rows, 0), without = sum_in(rows, 1);
  selection.only_iterations = with > 0 && without > 0;
  if (!selection.only_iterations) return {};
  return {
      base::format("not compared: {} without iterations, because {} some: mark iterations in each program, or give "
                   "traces of another "
                   "program their own --job",
                   without == 1 ? "1 trace" : base::format("{} traces", without),
                   with == 1 ? "1 other has" : base::format("{} others have", with))};
}

namespace {

// On a server; in a folder, check_rows() says it.
std::vector<std::string> wrong_device_time(const Selection& selection) {
  const Target& target = selection.target;
  if (!target.server || Tables(target).lacks(push::kRowCounts)) return {};
  const push::Rows wrong = list_of(target, wrong_counts_statement(selection, {&push::kDeviceTime}, WrongCounts::Any));
  if (wrong.rows.empty()) return {};
  return {
      base::format("how much work on devices is outside of iterations is not known for {}; some of their rows in {} of "
                   "{} are missing or doubled: push these traces again",
                   trace_names(wrong), push::kDeviceTime.name, target.text())};
}

std::vector<std::string> read_work_outside(const Selection& selection) {
  constexpr uint64_t kMentioned = 100;  // work that began in an iteration may end after it
  if (Tables(selection.target).lacks(push::kDeviceTime)) {
    if (!selection.target.server) return {};  // no trace has work of devices, or check_rows() says it
    throw Error(base::format("{} has no table {}: 'kymo push' of the traces there makes it and writes their rows again",
                             selection.target.text(), push::kDeviceTime.name));
  }
  std::vector<std::string> lines = wrong_device_time(selection);
  const push::Rows rows = ask(selection.target, outside_statement(selection));
  if (rows.rows.size() != 1 || rows.columns.size() != 3) throw Error("the server's answer is not about device time");
  const uint64_t traces = sum_in(rows, 0), outside = sum_in(rows, 1), inside = sum_in(rows, 2);
  if (outside > (outside + inside) / kMentioned)
    lines.push_back(
        base::format("not counted: {} of work on devices that was launched outside of iterations, in {} trace{}; kymo "
                     "stats FILE has "
                     "all of it",
                     base::duration_text(outside), traces, traces == 1 ? "" : "s"));
  return lines;
}

}  // namespace

std::vector<std::string> work_outside_of_iterations(const Selection& selection) {
  try {
    return read_work_outside(selection);
  } catch (const Error& error) {  // the answer itself does not need this table
    return {base::format("how much work on devices is outside of iterations cannot be read: {}", error.what())};
  }
}

std::vector<std::string> traces_without_calls(const Selection& selection, bool lost_rows) {
  const Target& target = selection.target;
  Tables there(target);
  for (const push::TableSpec* table : {&push::kCollectives, &push::kRuns}) {
    if (!there.lacks(*table)) continue;
    throw Error(base::format(
        "{0} has no table {1}, which tables of version {2} have: push the traces with this kymo{3}", target.text(),
        table->name, push::kSchemaVersion,
        target.server ? base::format(", and add {} to a database of Distributed tables", table->name) : ""));
  }
  // What was pushed with a count of its calls still has them.
  if (!lost_rows && !there.lacks(push::kRowCounts) &&
      list_of(target, uncounted_calls_statement(selection)).rows.empty())
    return {};
  const push::Rows rows = list_of(target, without_calls_statement(selection));
  if (rows.rows.empty()) return {};
  return {
      base::format("not counted: {}; the calls of their collectives are not in {}, because they were lost or an older "
                   "kymo pushed them: push them again",
                   trace_names(rows), target.text())};
}

}  // namespace kymo::fleet
