#include "questions/incomplete.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "push/store.h"
#include "push/tables.h"
#include "questions/answers.h"
#include "questions/parquet_check.h"
#include "questions/parquet_files.h"
#include "questions/statements.h"

namespace kymo::fleet {
namespace {

enum Column : size_t {
  kTrace,
  kFile,
  kComplete,
  kHost,
  kProgram,
  kJob,
  kRank,
  kBegan,
  kDuration,
  kEvents,
  kBytes,
  kColumns
};

using Row = std::vector<std::string>;

bool is_complete(const Row& row) { return row[kComplete] != "0"; }

bool is_part_of(const Row& part, const Row& whole) {
  const auto has_more = [&](Column column) {
    return push::parse_u64(part[column], "size") <= push::parse_u64(whole[column], "size");
  };
  return is_complete(whole) && has_more(kDuration) && has_more(kEvents) && has_more(kBytes);
}

// One that does not say when it was recorded begins at any number, which others may have too.
bool has_time(const Row& row) {
  return push::parse_i64(row[kBegan], "began_ns") >= int64_t{push::kFirstDate} * 1'000'000'000;
}

bool is_as_long_as(const Row& row, const Row& other) {
  return row[kDuration] == other[kDuration] && row[kEvents] == other[kEvents] && row[kComplete] == other[kComplete];
}

using Recordings = std::map<Row, std::vector<const Row*>>;

// Of the traces that are as long as another one of the same recording, the totals of their operations.
std::map<std::string, Row> totals_of(const Recordings& recordings, const Totals& totals) {
  constexpr size_t kMostTraces = 1'000, kColumnsOfTotals = 3;
  std::vector<uint64_t> traces;
  for (const auto& [recording, rows] : recordings)
    for (const Row* row : rows)
      if (has_time(*row) && std::any_of(rows.begin(), rows.end(),
                                        [&](const Row* other) { return other != row && is_as_long_as(*row, *other); }))
        traces.push_back(push::parse_u64((*row)[kTrace], "trace"));
  std::map<std::string, Row> found;
  for (size_t at = 0; at < traces.size(); at += kMostTraces) {
    const auto begin = traces.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kMostTraces, traces.size() - at));
    const push::Rows answer = totals({begin, end});
    if (answer.columns.size() != kColumnsOfTotals) throw Error("the answer has no totals of traces");
    for (const Row& row : answer.rows) found[row[0]] = {row[1], row[2]};
  }
  return found;
}

}  // namespace

Parts find_parts(const push::Rows& marks, const Totals& totals) {
  if (marks.columns.size() != kColumns) throw Error("the answer is not a list of traces");
  Recordings recordings;
  for (const Row& row : marks.rows) recordings[{row.begin() + kHost, row.begin() + kDuration}].push_back(&row);
  auto total = totals_of(recordings, totals);
  Parts parts;
  for (const auto& [recording, rows] : recordings) {
    std::vector<const Row*> different;
    for (const Row* row : rows) {
      const bool is_copy = has_time(*row) && std::any_of(different.begin(), different.end(), [&](const Row* other) {
                             return is_as_long_as(*row, *other) && total[(*row)[kTrace]] == total[(*other)[kTrace]];
                           });
      if (is_copy)
        parts.copies.rows.push_back({(*row)[kTrace], (*row)[kFile]});
      else
        different.push_back(row);
    }
    for (const Row* row : different) {
      if (is_complete(*row)) continue;
      const bool is_identified = !(*row)[kHost].empty() && !(*row)[kProgram].empty();
      const bool is_part = is_identified && std::any_of(rows.begin(), rows.end(),
                                                        [&](const Row* whole) { return is_part_of(*row, *whole); });
      (is_part ? parts.of_others : parts.alone).rows.push_back({(*row)[kTrace], (*row)[kFile]});
    }
  }
  for (push::Rows* one : {&parts.of_others, &parts.alone, &parts.copies})
    std::sort(one->rows.begin(), one->rows.end(), [](const Row& a, const Row& b) { return a[1] < b[1]; });
  return parts;
}

namespace {

// Column: version, of the tables.
std::string version_statement(const Target& target) {
  return base::format("SELECT max(version) AS version FROM {}", Dialect(target).table(push::kSchema));
}

// Columns: trace, file, complete, its_host, its_program, its_job, rank, began_ns, duration_ns, events, bytes. The
// traces whose recording or file was cut off, or that are damaged (complete = 0), and those that began in the same
// nanosecond. And traces that began and ended in the same nanosecond, with as many events.
std::string same_recordings_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  // A trace that does not say when it was recorded begins at any number.
  return base::format(
      "SELECT DISTINCT trace, file, complete, CAST(host AS String) AS its_host, CAST(program AS String) AS "
      "its_program,\n"
      "  CAST(job AS String) AS its_job, rank, begin_ns AS began_ns, duration_ns, events, bytes\n"
      "FROM {0}\nWHERE {1}\n"
      "  AND (begin_ns {2} (SELECT begin_ns FROM {0} WHERE {3} AND complete = 0 GROUP BY begin_ns)\n"
      "    OR (begin_ns, duration_ns, events) {2} (SELECT begin_ns, duration_ns, events FROM {0}\n"
      "      WHERE {3} AND begin_ns >= {4} GROUP BY begin_ns, duration_ns, events HAVING count(DISTINCT trace) > 1))\n"
      "ORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), job_and_times(selection, dialect),
      int64_t{push::kFirstDate} * 1'000'000'000);
}

// Columns: trace, its_calls, its_ns: of all operations of these traces.
std::string totals_statement(const Selection& selection, const std::vector<uint64_t>& traces) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, sum(count) AS its_calls, sum(total_ns) AS its_ns\nFROM {}\n{} trace IN ({})\n{} {}\nGROUP BY "
      "trace",
      dialect.table(push::kOperations), dialect.first_where(), base::join(traces, ", "), dialect.next_where(),
      chosen(selection, dialect));
}

// Columns: trace, file. Traces of a server whose rows of iterations or, if `uses_operations`, of operations are all
// missing.
std::string lost_rows_statement(const Selection& selection, bool uses_operations) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  const auto has = [&](const push::TableSpec& table) {
    return base::format("(trace, attempt) {} (SELECT trace, attempt FROM {} WHERE {} GROUP BY trace, attempt)",
                        dialect.in(), dialect.table(table), rows);
  };
  return base::format(
      "SELECT trace, file\nFROM {}\nWHERE {} AND iterations > 0\n  AND NOT ({}{}{})\nGROUP BY trace, file\n"
      "ORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), has(push::kIterations),
      uses_operations ? "\n  AND " : "", uses_operations ? has(push::kOperations) : "");
}

// Columns: trace, file. Traces that have another number of rows in one of these tables than they were pushed with. For
// a server with counts (kRowCounts): in a folder, the files tell it.
enum class WrongCounts : uint8_t { Any, TooMany };
std::string wrong_counts_statement(const Selection& selection, const std::vector<const push::TableSpec*>& tables,
                                   WrongCounts wanted) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  std::string counts = base::format(
      "    SELECT trace AS its_trace, attempt AS its_attempt, CAST(of_table AS String) AS its_table,\n"
      "      toInt64(max(row_count)) AS n\n"
      "    FROM {} WHERE {} GROUP BY trace, attempt, its_table\n",
      dialect.table(push::kRowCounts), rows);
  std::vector<std::string> names;
  // One number instead of two, as in Dialect::key(): half of the time.
  for (const push::TableSpec* table : tables) {
    names.push_back(push::quoted_text(table->name));
    base::format_to(counts,
                    "    UNION ALL SELECT any(trace) AS its_trace, any(attempt) AS its_attempt, {} AS its_table,\n"
                    "      -toInt64(count()) AS n\n"
                    "    FROM {} WHERE {} GROUP BY trace + attempt\n",
                    names.back(), dialect.table(*table), rows);
  }
  return base::format(
      "SELECT trace, file\nFROM {0}\nWHERE {1}\n  AND (trace, attempt) {2} (SELECT its_trace, its_attempt FROM (\n{3}  "
      ")\n"
      "  WHERE its_table IN ({4}) GROUP BY its_trace, its_attempt, its_table HAVING max(n) >= 0 AND sum(n) {5} 0)\n"
      "GROUP BY trace, file\nORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), counts, base::join(names, ", "),
      wanted == WrongCounts::TooMany ? "<" : "!=");
}

// Columns: traces, outside_ns, inside_ns. How many traces have work of devices outside of iterations, how long it
// takes, and how long the work in iterations does.
std::string outside_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT sum(CASE WHEN outside > 0 THEN 1 ELSE 0 END) AS traces, sum(outside) AS outside_ns, sum(inside) AS "
      "inside_ns\nFROM (\n"
      "  SELECT trace, sum(CASE WHEN part = {0} THEN ns ELSE 0 END) AS outside,\n"
      "    sum(CASE WHEN part = {0} THEN 0 ELSE ns END) AS inside\n"
      "  FROM {1}\n  WHERE {2}\n  AND part IN ('compute', 'communication', 'copies', {0})\n  GROUP BY trace)",
      push::quoted_text(push::kOutside), dialect.table(push::kDeviceTime), chosen(selection, dialect));
}

// Columns: trace, file. A trace that was pushed without a number of calls of collectives, if there is one.
std::string uncounted_calls_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, file\nFROM {}\nWHERE {}\n  AND (trace, attempt) {} (SELECT trace, attempt FROM {}\n"
      "    WHERE {} AND of_table = {})\nGROUP BY trace, file\nLIMIT 1",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.not_in(), dialect.table(push::kRowCounts),
      job_and_times(selection, dialect), push::quoted_text(push::kCollectives.name));
}

// Columns: trace, file. Traces that have collectives in `operations`, and not the calls that stragglers needs.
std::string without_calls_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  return base::format(
      "SELECT trace, file\nFROM {0}\nWHERE {1}\n  AND (trace, attempt) {2} (SELECT trace, attempt FROM {3}\n"
      "    WHERE {4} AND {5} AND numbered = 1 AND rank >= 0 GROUP BY trace, attempt)\n"
      "  AND (trace, attempt) {6} (SELECT trace, attempt FROM {7} WHERE {4} AND call = 0\n"
      "    GROUP BY trace, attempt)\nGROUP BY trace, file\nORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), dialect.table(push::kOperations), rows,
      push::kIsCommunication, dialect.not_in(), dialect.table(push::kCollectives));
}

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
