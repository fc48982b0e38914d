#include "fleet/statements.h"

#include <algorithm>

#include "analyze/diff/statistics.h"
#include "base/text.h"
#include "fleet/dialect.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

using push::quoted_text;

constexpr int64_t kMinute = 60;  // seconds

// How many minutes are one sample of a comparison: as many as leave the statistics of both sides all the values that
// they use. More values would only be averaged later.
std::string minutes_of_sample(const Selection& selection, const Dialect& dialect, int64_t middle) {
  // ELSE 0: old servers count a list of only NULL as NULL.
  const auto minutes = [&](std::string_view compare) {
    return base::format("count(DISTINCT CASE WHEN {0} {1} {2} THEN {0} ELSE 0 END)", dialect.minute(), compare, middle);
  };
  return base::format("greatest(1, (SELECT {}\n      FROM {} WHERE {}))",
                      dialect.divided(base::format("least({},\n        {})", minutes("<"), minutes(">=")),
                                      std::to_string(analyze::kMostValues)),
                      dialect.table(push::kTraces), job_and_times(selection, dialect));
}

}  // namespace

std::string top_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT CAST(name AS String) AS operation, on_device, sum(count) AS calls, sum(self_ns) AS self_sum,\n"
      "  sum(total_ns) AS total_sum, max(max_ns) AS longest, count(DISTINCT trace) AS traces,\n"
      "  count(DISTINCT rank) AS ranks, argMax(trace, {3}) AS slowest_trace, argMax(rank, {3}) AS slowest_rank\n"
      "FROM {0}\nWHERE {1}\nGROUP BY operation, on_device\nORDER BY self_sum DESC, operation, on_device\nLIMIT {2}",
      dialect.table(push::kOperations), chosen(selection, dialect), selection.limit,
      ordered("max_ns", rising("trace")));
}

std::string diff_statement(const Selection& selection, int64_t middle) {
  const Dialect dialect(selection.target);
  const int64_t minute = middle / kMinute;
  // The sample of each trace comes by a join, and not by a division in GROUP BY: old servers of a cluster do not know
  // the value of a subquery of another server there.
  const std::string samples = base::format(
      "{} (\n      SELECT started, CAST({} >= {} AS UInt8) AS side,\n        {} AS sample\n"
      "      FROM {} WHERE {} GROUP BY started) AS traces\n    USING (started)",
      dialect.join_everywhere(), dialect.minute(), minute,
      dialect.divided(dialect.minute(), minutes_of_sample(selection, dialect, minute)), dialect.table(push::kTraces),
      job_and_times(selection, dialect));
  const auto sums = [&](const push::TableSpec& table, std::string_view name, std::string_view device,
                        std::string_view ns) {
    return base::format(
        "  SELECT side, sample, {} AS operation, CAST({} AS UInt8) AS device, sum({}) AS ns, count() AS n\n"
        "  FROM {} {}\n  WHERE {}\n  GROUP BY side, sample, operation, device",
        name, device, ns, dialect.table(table), samples, chosen(selection, dialect));
  };
  return base::format(
      "SELECT side, operation, device, {} AS samples, {} AS sums, {} AS counts\nFROM (\n{}\n  UNION ALL\n{})\n"
      "GROUP BY side, operation, device\nORDER BY side, operation, device",
      dialect.list("sample"), dialect.list("ns"), dialect.list("n"),
      sums(push::kOperations, "CAST(name AS String)", "on_device", "self_ns"),
      sums(push::kIterations, "''", "2", "wall_ns"));
}

namespace {

// Host and devices may have the same name; the one on the host is meant if there is one.
std::string rows_of_operation(const Dialect& dialect, const std::string& where, const Operation& operation) {
  const std::string is_name = base::format("name = {}", dialect.text(operation.name));
  if (operation.only_on_device) return is_name + " AND on_device = 1";
  return base::format("{0} AND on_device = (SELECT min(on_device) FROM {1}\n    WHERE {2}\n    AND {0})", is_name,
                      dialect.table(push::kOperations), where);
}

}  // namespace

std::string history_statement(const Selection& selection, const std::optional<Operation>& operation) {
  const Dialect dialect(selection.target);
  const std::string where = chosen(selection, dialect);
  if (!operation)
    return base::format(
        "SELECT {} AS sample, sum(wall_ns) AS sum_ns, count() AS iterations, argMax(trace, wall_ns) AS shown_by\n"
        "FROM {}\nWHERE {}\nGROUP BY sample\nORDER BY sample",
        dialect.minute(), dialect.table(push::kIterations), where);
  // A trace without the operation says nothing about it, so its iterations do not count.
  return base::format(
      "SELECT sample, sum(ns) AS sum_ns, sum(n) AS iterations, max(its_trace) AS shown_by\n"
      "FROM (\n"
      "  SELECT {0} AS sample, sum(self_ns) AS ns, CAST(0 AS UInt64) AS n, argMax(trace, self_ns) AS its_trace\n"
      "  FROM {1}\n  WHERE {2}\n  AND {3}\n  GROUP BY sample\n"
      "  UNION ALL\n"
      "  SELECT {0} AS sample, CAST(0 AS UInt64) AS ns, count() AS n, CAST(0 AS UInt64) AS its_trace\n"
      "  FROM {4}\n  WHERE {2}\n"
      "  AND trace {5} (SELECT trace FROM {1}\n    WHERE {2}\n    AND {3})\n  GROUP BY sample)\n"
      "GROUP BY sample\nHAVING iterations > 0\nORDER BY sample",
      dialect.minute(), dialect.table(push::kOperations), where, rows_of_operation(dialect, where, *operation),
      dialect.table(push::kIterations), dialect.in());
}

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

std::string wrong_counts_statement(const Selection& selection, bool uses_operations, WrongCounts wanted) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  std::string counts = base::format(
      "    SELECT trace, attempt, CAST(of_table AS String) AS its_table, toInt64(max(row_count)) AS n\n"
      "    FROM {} WHERE {} GROUP BY trace, attempt, its_table\n",
      dialect.table(push::kRowCounts), rows);
  std::vector<std::string> names;
  std::vector<const push::TableSpec*> tables{&push::kIterations, &push::kOperations};
  if (!uses_operations) tables = {&push::kIterations, &push::kCollectives, &push::kRuns};
  for (const push::TableSpec* table : tables) {
    names.push_back(quoted_text(table->name));
    base::format_to(counts,
                    "    UNION ALL SELECT trace, attempt, {} AS its_table, -toInt64(count()) AS n\n"
                    "    FROM {} WHERE {} GROUP BY trace, attempt\n",
                    names.back(), dialect.table(*table), rows);
  }
  return base::format(
      "SELECT trace, file\nFROM {0}\nWHERE {1}\n  AND (trace, attempt) {2} (SELECT trace, attempt FROM (\n{3}  )\n"
      "  WHERE its_table IN ({4}) GROUP BY trace, attempt, its_table HAVING max(n) >= 0 AND sum(n) {5} 0)\n"
      "GROUP BY trace, file\nORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), counts, base::join(names, ", "),
      wanted == WrongCounts::TooMany ? "<" : "!=");
}

std::string incomplete_marks_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT DISTINCT trace, file, complete, CAST(host AS String) AS its_host, CAST(program AS String) AS "
      "its_program,\n"
      "  CAST(job AS String) AS its_job, rank, begin_ns AS began_ns, duration_ns, events, bytes\n"
      "FROM {0}\nWHERE {1}\n"
      "  AND begin_ns {2} (SELECT begin_ns FROM {0} WHERE {3} AND complete = 0 GROUP BY begin_ns)\nORDER BY file, "
      "trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), job_and_times(selection, dialect));
}

std::string jobs_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job, max(began) AS last\nFROM (\n"
      "  SELECT argMax(CAST(job AS String), attempt) AS its_job, argMax({}, attempt) AS began\n"
      "  FROM {}\n  GROUP BY trace)\nGROUP BY its_job\nORDER BY {}last DESC, its_job\nLIMIT {}",
      dialect.second(), dialect.table(push::kTraces),
      selection.job ? base::format("its_job = {} DESC, ", dialect.text(*selection.job)) : "", kMostJobs);
}

std::string jobs_in_time_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job\nFROM (\n  SELECT argMax(CAST(job AS String), attempt) AS its_job\n"
      "  FROM {}\n  WHERE {}\n  GROUP BY trace)\nGROUP BY its_job\nORDER BY its_job\nLIMIT {}",
      dialect.table(push::kTraces), times_of(selection, dialect), kMostJobs);
}

std::string outside_time_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, argMax(file, attempt) AS its_file, argMax(CAST(host AS String), attempt) AS its_host,\n"
      "  argMax({0}, attempt) AS began\nFROM {1}\nWHERE started >= {2} OR started < {3}\nGROUP BY trace{4}\n"
      "ORDER BY began DESC, its_file, trace",
      dialect.second(), dialect.table(push::kTraces), dialect.time(selection.to),
      dialect.time(std::min<int64_t>(selection.from, push::kFirstDate)),
      selection.job ? "\nHAVING argMax(job, attempt) = " + dialect.text(*selection.job) : "");
}

std::string version_statement(const Target& target) {
  return base::format("SELECT max(version) AS version FROM {}", Dialect(target).table(push::kSchema));
}

}  // namespace kymo::fleet
